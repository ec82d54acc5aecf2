//! Shapes that are described in cells (boxes, masks, volumes), and functions that compare two shapes.

pub mod box_3d;
pub mod boxes;
pub mod coco;
pub mod mask;
pub mod volume;
