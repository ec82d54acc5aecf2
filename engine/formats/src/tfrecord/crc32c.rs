//! CRC-32C (Castagnoli), eight bytes at a time.

/// The polynomial 0x1EDC6F41 with its bits reversed.
const POLYNOMIAL: u32 = 0x82f6_3b78;
/// Added by the TFRecord format, so that a CRC stored inside data that has a CRC
/// itself does no harm.
const MASK: u32 = 0xa282_ead8;

/// `TABLES[n][b]`: the effect of byte `b` with `n` bytes after it.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ POLYNOMIAL
            } else {
                crc >> 1
            };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut after = 1;
    while after < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[after - 1][byte];
            tables[after][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        after += 1;
    }
    tables
}

/// CRC-32C of `bytes`.
fn crc32c(bytes: &[u8]) -> u32 {
    let (eights, rest) = bytes.as_chunks::<8>();
    let mut crc = u32::MAX;
    for eight in eights {
        let [a, b, c, d, tail @ ..] = eight;
        let head = (u32::from_le_bytes([*a, *b, *c, *d]) ^ crc).to_le_bytes();
        crc = head
            .iter()
            .chain(tail)
            .zip(TABLES.iter().rev())
            .fold(0, |sum, (byte, table)| sum ^ table[usize::from(*byte)]);
    }
    for byte in rest {
        let [low, ..] = crc.to_le_bytes();
        crc = crc >> 8 ^ TABLES[0][usize::from(low ^ byte)];
    }
    !crc
}

/// CRC-32C of `bytes`, masked as TFRecord stores it.
pub fn masked_crc32c(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(MASK)
}

#[cfg(test)]
mod tests {
    use super::crc32c;

    #[test]
    fn check_values() {
        // RFC 3720, B.4, and the catalogue's check value.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(b""), 0);
    }
}
