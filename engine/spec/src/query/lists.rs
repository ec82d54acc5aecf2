//! Expands `column IN list` to the texts of the list, and `EXCLUDE columns(list)` to the names in the list.

use std::collections::BTreeSet;

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

use super::fault::{Fault, Lists};
use crate::text::suggest::nearest;

/// Replaces names of lists after IN with the texts of the lists.
pub(super) fn expand(
    tokens: Vec<TokenWithSpan>,
    lists: &Lists,
    used: &mut BTreeSet<String>,
) -> Result<Vec<TokenWithSpan>, Fault> {
    let mut expanded = Vec::with_capacity(tokens.len());
    let mut behind_in = false;
    let mut behind_exclude = false;
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        if behind_exclude
            && let Some((texts, end)) = excluded(&token, tokens.as_slice(), lists, used)?
        {
            push(&mut expanded, &texts, &token, |text| {
                Token::Word(Word {
                    value: text,
                    quote_style: Some('"'),
                    keyword: Keyword::NoKeyword,
                })
            });
            behind_exclude = false;
            tokens.nth(end);
            continue;
        }
        behind_exclude = match &token.token {
            Token::Whitespace(_) => behind_exclude,
            Token::Word(word) => word.keyword == Keyword::EXCLUDE,
            _ => false,
        };
        match &token.token {
            Token::Whitespace(Whitespace::Space | Whitespace::Tab | Whitespace::Newline) => {}
            Token::Word(word) if behind_in && word.keyword == Keyword::NoKeyword => {
                behind_in = false;
                if let Some(texts) = lists.get(&word.value) {
                    used.insert(word.value.clone());
                    push(&mut expanded, texts, &token, Token::SingleQuotedString);
                    continue;
                }
                if nearest(&word.value, lists.keys().map(String::as_str)).is_some() {
                    return Err(Fault::unknown_list(
                        &word.value,
                        token.span.start.into(),
                        lists,
                    ));
                }
            }
            Token::Word(word) => behind_in = word.keyword == Keyword::IN,
            _ => behind_in = false,
        }
        expanded.push(token);
    }
    Ok(expanded)
}

/// Returns the names in `columns(list)`, and the index in `rest` of the call's last token.
fn excluded(
    token: &TokenWithSpan,
    rest: &[TokenWithSpan],
    lists: &Lists,
    used: &mut BTreeSet<String>,
) -> Result<Option<(Vec<String>, usize)>, Fault> {
    let is_columns = matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("columns"));
    let mut words = rest.iter().enumerate();
    let mut next = || words.find(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
    let (Some((_, open)), Some((_, list)), Some((end, close))) = (next(), next(), next()) else {
        return Ok(None);
    };
    let (Token::LParen, Token::Word(name), Token::RParen) =
        (&open.token, &list.token, &close.token)
    else {
        return Ok(None);
    };
    if !is_columns {
        return Ok(None);
    }
    if let Some(texts) = lists.get(&name.value) {
        used.insert(name.value.clone());
        return Ok(Some((texts.clone(), end)));
    }
    Err(Fault::unknown_list(
        &name.value,
        list.span.start.into(),
        lists,
    ))
}

/// Appends the tokens of `('a', 'b')`. All of them have the position of the list's name.
fn push(
    tokens: &mut Vec<TokenWithSpan>,
    texts: &[String],
    name: &TokenWithSpan,
    made: impl Fn(String) -> Token,
) {
    let mut token = |token| tokens.push(TokenWithSpan::new(token, name.span));
    token(Token::LParen);
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            token(Token::Comma);
        }
        token(made(text.clone()));
    }
    token(Token::RParen);
}
