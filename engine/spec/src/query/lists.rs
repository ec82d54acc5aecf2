//! Expands `column IN list` to the texts of the list.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

use super::Fault;
use crate::suggest::nearest;

/// Replaces names of lists after IN by their texts.
pub(super) fn expand(
    tokens: Vec<TokenWithSpan>,
    lists: &BTreeMap<String, Vec<String>>,
    used: &mut BTreeSet<String>,
) -> Result<Vec<TokenWithSpan>, Fault> {
    let mut expanded = Vec::with_capacity(tokens.len());
    let mut behind_in = false;
    for token in tokens {
        match &token.token {
            Token::Whitespace(Whitespace::Space | Whitespace::Tab | Whitespace::Newline) => {}
            Token::Word(word) if behind_in && word.keyword == Keyword::NoKeyword => {
                behind_in = false;
                if let Some(texts) = lists.get(&word.value) {
                    used.insert(word.value.clone());
                    push(&mut expanded, texts, &token);
                    continue;
                }
                if let Some(near) = nearest(&word.value, lists.keys().map(String::as_str)) {
                    let message = format!("there is no list `{}`", word.value);
                    let fault = Fault::new("unknown-list", token.span.start, message);
                    return Err(fault.help(format!("did you mean `{near}`?")));
                }
            }
            Token::Word(word) => behind_in = word.keyword == Keyword::IN,
            _ => behind_in = false,
        }
        expanded.push(token);
    }
    Ok(expanded)
}

/// Appends `('a', 'b')`, all with the position of the name.
fn push(tokens: &mut Vec<TokenWithSpan>, texts: &[String], name: &TokenWithSpan) {
    let mut token = |token| tokens.push(TokenWithSpan::new(token, name.span));
    token(Token::LParen);
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            token(Token::Comma);
        }
        token(Token::SingleQuotedString(text.clone()));
    }
    token(Token::RParen);
}
