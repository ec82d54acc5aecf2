//! Shapes that cells describe (boxes, masks, volumes), and how to compare two of them.

pub mod box_3d;
pub mod boxes;
pub mod coco;
pub mod mask;
pub mod mask_columns;
pub mod volume;
