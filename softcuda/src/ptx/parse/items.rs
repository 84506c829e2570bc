//! What stands at the outermost level: the header, variables, functions.

use super::Parser;
use crate::ptx::ast::{Alias, Limits, Linkage, Routine, Syntax, Variable};
use crate::ptx::error::{JitError, Refusal};
use crate::ptx::lexer::Token;

impl<'a> Parser<'a> {
    pub(super) fn text(mut self) -> Result<Syntax<'a>, JitError> {
        let mut syntax = Syntax::default();
        if !self.accept(Token::Dot("version")) {
            return Err(JitError::new(Refusal::NotPtx, 0, "the image does not start with .version"));
        }
        syntax.version = self.version()?;
        loop {
            match self.peek() {
                Token::End => return Ok(syntax),
                Token::Dot("target") => self.targets(&mut syntax)?,
                _ if syntax.targets.is_empty() => {
                    return Err(JitError::invalid(self.line(), "no .target before this"));
                }
                Token::Dot("address_size") => {
                    self.take();
                    if self.integer()? != 64 {
                        return Err(JitError::invalid(self.line(), ".address_size other than 64"));
                    }
                }
                Token::Dot("section") => self.section()?,
                Token::Dot("pragma") => self.until_semicolon(),
                Token::Dot("alias") => self.alias(&mut syntax)?,
                _ => self.item(&mut syntax)?,
            }
        }
    }

    fn alias(&mut self, syntax: &mut Syntax<'a>) -> Result<(), JitError> {
        let line = self.line();
        self.take();
        let name = self.name()?;
        self.expect(',')?;
        let target = self.name()?;
        syntax.aliases.push(Alias { line, name, target });
        self.expect(';')
    }

    fn version(&mut self) -> Result<(u32, u32), JitError> {
        let line = self.line();
        // `8.7` is a decimal number to the lexer.
        match self.take() {
            Token::Double(bits) if f64::from_bits(bits) > 1e3 => {
                let what = "this .version is none that PTX has";
                Err(JitError::new(Refusal::Version, line, what))
            }
            Token::Double(bits) => {
                let tenths = (f64::from_bits(bits) * 10.0).round() as u32;
                Ok((tenths / 10, tenths % 10))
            }
            _ => {
                self.at -= 1;
                Err(self.unexpected("a version"))
            }
        }
    }

    fn targets(&mut self, syntax: &mut Syntax<'a>) -> Result<(), JitError> {
        self.take();
        loop {
            let line = self.line();
            syntax.targets.push((self.name()?, line));
            if !self.mark(',') {
                return Ok(());
            }
        }
    }

    /// Debugging data.
    fn section(&mut self) -> Result<(), JitError> {
        while !self.mark('{') {
            if self.take() == Token::End {
                return Err(self.unexpected("'{'"));
            }
        }
        while !self.mark('}') {
            if self.take() == Token::End {
                return Err(self.unexpected("'}'"));
            }
        }
        Ok(())
    }

    pub(super) fn until_semicolon(&mut self) {
        while !matches!(self.take(), Token::Mark(';') | Token::End) {}
    }

    fn item(&mut self, syntax: &mut Syntax<'a>) -> Result<(), JitError> {
        let mut linkage = Linkage::Private;
        loop {
            match self.peek() {
                Token::Dot("visible") => linkage = Linkage::Visible,
                Token::Dot("weak" | "common") => linkage = Linkage::Weak,
                Token::Dot("extern") => linkage = Linkage::Extern,
                Token::Dot(kind @ ("entry" | "func")) => {
                    self.take();
                    let routine = self.routine(kind == "entry", linkage)?;
                    syntax.functions.push(routine);
                    return Ok(());
                }
                Token::Dot("global" | "const" | "shared" | "shared::cta" | "local" | "param") => {
                    return self.variables(linkage, &mut syntax.variables);
                }
                _ => return Err(self.unexpected("a directive that is known")),
            }
            self.take();
        }
    }

    fn routine(&mut self, kernel: bool, linkage: Linkage) -> Result<Routine<'a>, JitError> {
        if self.peek() == Token::Dot("attribute") {
            return Err(JitError::uncovered(self.line(), ".attribute of a function is not supported"));
        }
        let results = if self.peek() == Token::Mark('(') { self.parameters()? } else { Vec::new() };
        let line = self.line();
        let name = self.name()?;
        let params = if self.peek() == Token::Mark('(') { self.parameters()? } else { Vec::new() };
        let limits = self.limits()?;
        self.used = None;
        let body = if self.mark('{') {
            Some(self.statements()?)
        } else {
            self.expect(';')?;
            None
        };
        Ok(Routine { text: 0, line, linkage, name, kernel, results, params, limits, body })
    }

    pub(super) fn parameters(&mut self) -> Result<Vec<Variable<'a>>, JitError> {
        self.expect('(')?;
        let mut all = Vec::new();
        if self.mark(')') {
            return Ok(all);
        }
        loop {
            all.push(self.parameter()?);
            if !self.mark(',') {
                self.expect(')')?;
                return Ok(all);
            }
        }
    }

    fn limits(&mut self) -> Result<Limits, JitError> {
        let mut limits = Limits::default();
        while let Token::Dot(word) = self.peek() {
            self.take();
            match word {
                "maxntid" => limits.most_threads = Some(self.triple()?),
                "reqntid" => limits.exact_threads = Some(self.triple()?),
                "reqnctapercluster" => limits.cluster = Some(self.triple()?),
                "explicitcluster" => limits.explicit_cluster = true,
                "minnctapersm"
                | "maxnctapersm"
                | "maxnreg"
                | "maxclusterrank"
                | "abi_preserve"
                | "abi_preserve_control" => {
                    self.integer()?;
                }
                "noreturn" => {}
                "pragma" => self.until_semicolon(),
                _ => {
                    let what = format!("the function directive .{word} is not supported");
                    return Err(JitError::uncovered(self.line(), what));
                }
            }
        }
        Ok(limits)
    }

    fn triple(&mut self) -> Result<[u32; 3], JitError> {
        let mut all = [1; 3];
        for slot in &mut all {
            *slot = self.integer()?.min(u64::from(u32::MAX)) as u32;
            if !self.mark(',') {
                break;
            }
        }
        Ok(all)
    }
}
