//! Decodes member names.

/// The characters 0x80 to 0xff of code page 437, the encoding of names without the UTF-8 flag (zip specification,
/// appendix D).
const CP437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// Decodes code page 437, in which each byte is a character.
fn decode_cp437(bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|byte| match byte.checked_sub(0x80) {
            None => char::from(*byte),
            Some(index) => CP437
                .chars()
                .nth(usize::from(index))
                .unwrap_or(char::REPLACEMENT_CHARACTER),
        })
        .collect()
}

/// Decodes a member name like Python 3.11's `zipfile`: from UTF-8 if the flag is set, otherwise from code page 437.
/// Returns `None` if the flag is set and the name is not UTF-8.
pub(super) fn decode(raw: &[u8], is_utf8: bool) -> Option<String> {
    if is_utf8 || raw.is_ascii() {
        return std::str::from_utf8(raw).ok().map(str::to_owned);
    }
    Some(decode_cp437(raw))
}
