//! Member names as text.

/// The upper half of code page 437, in which names without the UTF-8 flag are
/// written (zip specification, appendix D).
const CP437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// Decodes code page 437; every byte is a character.
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

/// A member's name: UTF-8 when the flag says so, otherwise code page 437, as
/// Python 3.11's `zipfile` reads it. `None` when flagged bytes are not UTF-8.
pub(super) fn decode(raw: &[u8], is_utf8: bool) -> Option<String> {
    if is_utf8 || raw.is_ascii() {
        return std::str::from_utf8(raw).ok().map(str::to_owned);
    }
    Some(decode_cp437(raw))
}
