//! Why nothing can be fetched at all. Failures of the programs themselves are `tool::ToolError`.

#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error("`{program}` is not on the PATH")]
    MissingProgram { program: String },
}
