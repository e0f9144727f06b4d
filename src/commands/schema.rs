//! `schema`: the JSON Schema of what people write and of what this program prints; for people, a reference in Markdown.

use crate::cli::{SchemaArgs, SchemaFormat};
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::model::formats::{CONFIG, PERSONA, ROLE};
use crate::model::json_schema;
use crate::model::plan::RunPlan;
use crate::model::reference;
use crate::model::report::RunReport;
use crate::model::verdict::Verdict;
use crate::ui::Ui;
use crate::work::contract::contract_schema;
use crate::work::review;
use crate::work::testimony::worker_report_format;
use serde_json::Value;

pub fn run(args: &SchemaArgs, ui: &mut Ui) -> Result<Exit> {
    if !args.markdown {
        ui.json(&schema(args.format));
        return Ok(Exit::Done);
    }
    let fields = match args.format {
        SchemaFormat::Persona => PERSONA,
        SchemaFormat::Role => ROLE,
        SchemaFormat::Config => CONFIG,
        SchemaFormat::Plan
        | SchemaFormat::Report
        | SchemaFormat::Contract
        | SchemaFormat::Verdict
        | SchemaFormat::WorkerReport
        | SchemaFormat::ReviewResult => {
            return Err(CommandError::usage(
                "a reference in Markdown is there for persona, role and config only",
            )
            .hint("leave `--markdown` out for the JSON Schema"));
        }
    };
    ui.text(&reference::markdown(fields));
    Ok(Exit::Done)
}

fn schema(format: SchemaFormat) -> Value {
    match format {
        SchemaFormat::Persona => json_schema::schema(
            "agentworkforce persona",
            "A persona file. An overlay says only what it changes; `extends` or the same id in a lower layer supplies the rest.",
            PERSONA,
            &["id"],
        ),
        SchemaFormat::Role => json_schema::schema(
            "agentworkforce role",
            "A role file, named after the role's key. An overlay says only what it changes.",
            ROLE,
            &[],
        ),
        SchemaFormat::Config => {
            json_schema::schema("agentworkforce config", "config.json in the workforce home.", CONFIG, &[])
        }
        SchemaFormat::Plan => schemars::schema_for!(RunPlan).to_value(),
        SchemaFormat::Report => schemars::schema_for!(RunReport).to_value(),
        SchemaFormat::Contract => contract_schema(),
        SchemaFormat::Verdict => schemars::schema_for!(Verdict).to_value(),
        SchemaFormat::WorkerReport => worker_report_format(),
        SchemaFormat::ReviewResult => review::schema(),
    }
}
