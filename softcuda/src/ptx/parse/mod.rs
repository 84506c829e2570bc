//! The parser: tokens to syntax.

mod body;
mod expression;
mod items;
mod variable;

use super::ast::Syntax;
use super::error::JitError;
use super::lexer::{Spot, Token, tokens};

/// Reads a whole text.
pub(super) fn parse(text: &str) -> Result<Syntax<'_>, JitError> {
    Parser { tokens: tokens(text)?, at: 0, depth: 0, used: None }.text()
}

/// How deep braces and parentheses may be nested.
const MOST_DEPTH: usize = 200;

struct Parser<'a> {
    tokens: Vec<Spot<'a>>,
    at: usize,
    depth: usize,
    /// What a pragma says of the instruction to come.
    used: Option<u64>,
}

impl<'a> Parser<'a> {
    /// Goes into braces or parentheses, of which not too many may be open.
    fn deeper(&mut self) -> Result<(), JitError> {
        self.depth += 1;
        if self.depth > MOST_DEPTH { Err(self.unexpected("less nesting")) } else { Ok(()) }
    }

    fn peek(&self) -> Token<'a> {
        self.tokens[self.at].token
    }

    fn peek_second(&self) -> Token<'a> {
        self.tokens[(self.at + 1).min(self.tokens.len() - 1)].token
    }

    fn line(&self) -> u32 {
        self.tokens[self.at].line
    }

    fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        if token != Token::End {
            self.at += 1;
        }
        token
    }

    /// Takes the token if it is this one.
    fn accept(&mut self, token: Token<'_>) -> bool {
        let found = self.peek() == token;
        if found {
            self.take();
        }
        found
    }

    fn mark(&mut self, mark: char) -> bool {
        self.accept(Token::Mark(mark))
    }

    fn expect(&mut self, mark: char) -> Result<(), JitError> {
        if self.mark(mark) { Ok(()) } else { Err(self.unexpected(&format!("{mark:?}"))) }
    }

    fn name(&mut self) -> Result<&'a str, JitError> {
        match self.peek() {
            Token::Name(name) => {
                self.take();
                Ok(name)
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    fn unexpected(&self, wanted: &str) -> JitError {
        let found = match self.peek() {
            Token::Name(name) => name.to_owned(),
            Token::Dot(name) => format!(".{name}"),
            Token::Integer(value) | Token::Unsigned(value) => value.to_string(),
            Token::Mark(mark) => format!("{mark:?}"),
            Token::Operator(operator) => format!("{operator:?}"),
            Token::End => "the end of the text".to_owned(),
            Token::Text(text) => format!("{text:?}"),
            Token::Single(_) | Token::Double(_) => "a number".to_owned(),
        };
        JitError::syntax(self.line(), &format!("{found}: {wanted} is wanted"))
    }
}
