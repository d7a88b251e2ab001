//! `chiton dialects` and `chiton schema`: what tool surfaces there are, and what they look like to a model.

use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;
use chiton_dialects::schema::{self, SchemaFormat};
use chiton_dialects::{Dialect, Surroundings, catalogue};
use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCandidates;
use serde_json::{Value, json};

use crate::messages::say;
use crate::session_arguments;
use crate::surroundings;

/// List the tool surfaces with their tools
#[derive(Args)]
pub(crate) struct DialectsArguments {
    /// One JSON object for each, one a line
    #[arg(long)]
    json: bool,
}

/// Print the tools of a dialect as a model provider takes them
#[derive(Args)]
pub(crate) struct SchemaArguments {
    /// The tool surface
    #[arg(
        long,
        default_value = "native",
        value_parser = session_arguments::dialect,
        add = ArgValueCandidates::new(session_arguments::known_dialects)
    )]
    dialect: &'static dyn Dialect,
    /// For whom
    #[arg(long, value_enum, default_value_t = FormatArgument::Mcp)]
    format: FormatArgument,
}

#[derive(Clone, Copy, ValueEnum)]
enum FormatArgument {
    /// An MCP client
    Mcp,
    /// `OpenAI`: functions
    Openai,
    /// `OpenAI`: functions of Chat Completions with `strict`
    OpenaiStrict,
    /// `OpenAI`: functions of the Responses API with `strict`
    OpenaiResponses,
    /// Anthropic: tools
    Anthropic,
    /// Gemini: function declarations
    Gemini,
}

pub(crate) fn dialects(arguments: &DialectsArguments) -> Result<ExitCode> {
    if arguments.json {
        let around = Surroundings::new(surroundings::working_directory()?);
        for dialect in catalogue::all() {
            let tools: Vec<String> = dialect.tools(&around).iter().map(|tool| tool.name.to_string()).collect();
            say!("{}", json!({"name": dialect.name(), "about": dialect.about(), "tools": tools}));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<String>> =
        catalogue::all().iter().map(|dialect| vec![dialect.name().to_owned(), dialect.about().to_owned()]).collect();
    write!(std::io::stdout().lock(), "{}", crate::table::lay_out(&["NAME", "TOOLS"], &rows))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn print_schema(arguments: &SchemaArguments) -> Result<ExitCode> {
    let around = Surroundings::new(surroundings::working_directory()?);
    let format = match arguments.format {
        FormatArgument::Mcp => SchemaFormat::Mcp,
        FormatArgument::Openai => SchemaFormat::Openai,
        FormatArgument::OpenaiStrict => SchemaFormat::OpenaiStrict,
        FormatArgument::OpenaiResponses => SchemaFormat::OpenaiResponses,
        FormatArgument::Anthropic => SchemaFormat::Anthropic,
        FormatArgument::Gemini => SchemaFormat::Gemini,
    };
    let tools: Vec<Value> = arguments.dialect.tools(&around).iter().map(|tool| schema::of(tool, format)).collect();
    writeln!(std::io::stdout().lock(), "{}", serde_json::to_string_pretty(&tools)?)?;
    Ok(ExitCode::SUCCESS)
}
