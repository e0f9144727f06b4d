//! Draws a terminal's screen as an SVG: text that scales, in a window.

use std::fmt::Write as _;

const CELL: (f64, f64) = (8.4, 19.0);
const MARGIN: f64 = 18.0;
const BAR: f64 = 38.0;
const BACKGROUND: &str = "#1b1e28";
const FOREGROUND: &str = "#d5d9e6";
/// The sixteen colours that programs name by number.
const COLOURS: [&str; 16] = [
    "#3b4252", "#e8697d", "#8fce8b", "#e5c07b", "#6cb0f5", "#c58fe8", "#62c9d3", "#d5d9e6", "#6b7394",
    "#f28b9b", "#a9e0a5", "#f0d399", "#8fc4fa", "#d5abf0", "#87dbe3", "#ffffff",
];

/// What cells of one run share.
#[derive(PartialEq, Clone)]
struct Look {
    colour: &'static str,
    bold: bool,
    dim: bool,
}

pub fn draw(screen: &vt100::Screen, title: &str) -> String {
    let (rows, columns) = screen.size();
    let used =
        (0..rows).rev().find(|row| !line(screen, *row, columns).trim().is_empty()).map_or(1, |row| row + 1);
    // The last prompt, with nothing typed, says nothing.
    let used = if line(screen, used - 1, columns).trim().ends_with('$') { used - 1 } else { used };
    let width = f64::from(columns) * CELL.0 + 2.0 * MARGIN;
    let height = f64::from(used) * CELL.1 + BAR + MARGIN;
    let mut out = String::new();
    let _ = writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" role="img" aria-label="{title} in a terminal">
<rect width="100%" height="100%" rx="10" fill="{BACKGROUND}"/>
<circle cx="22" cy="19" r="6" fill="#e8697d"/><circle cx="42" cy="19" r="6" fill="#e5c07b"/><circle cx="62" cy="19" r="6" fill="#8fce8b"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="{FOREGROUND}" xml:space="preserve">"##
    );
    for row in 0..used {
        draw_row(&mut out, screen, row, columns);
    }
    out.push_str("</g>\n</svg>\n");
    out
}

fn line(screen: &vt100::Screen, row: u16, columns: u16) -> String {
    screen.rows(0, columns).nth(usize::from(row)).unwrap_or_default()
}

fn draw_row(out: &mut String, screen: &vt100::Screen, row: u16, columns: u16) {
    let baseline = BAR + f64::from(row) * CELL.1 + 14.0;
    let mut run: Option<(u16, u16, Look, String)> = None;
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column) else { continue };
        if cell.is_wide_continuation() {
            continue;
        }
        let text = if cell.has_contents() { cell.contents() } else { " " };
        let cells = if cell.is_wide() { 2 } else { 1 };
        let look = look(cell);
        match &mut run {
            // A wide character is as wide as its font likes: it must not shift its neighbours.
            Some((_, width, known, gathered)) if *known == look && cells == 1 && !ends_wide(gathered) => {
                *width += 1;
                gathered.push_str(text);
            }
            _ => {
                if let Some(run) = run.take() {
                    draw_run(out, baseline, run);
                }
                run = Some((column, cells, look, text.to_owned()));
            }
        }
    }
    if let Some(run) = run {
        draw_run(out, baseline, run);
    }
}

fn ends_wide(text: &str) -> bool {
    text.chars().next_back().is_some_and(|last| last > '\u{2fff}')
}

fn look(cell: &vt100::Cell) -> Look {
    let colour = match cell.fgcolor() {
        vt100::Color::Idx(index) => COLOURS.get(usize::from(index)).copied().unwrap_or(FOREGROUND),
        _ => FOREGROUND,
    };
    Look { colour, bold: cell.bold(), dim: cell.dim() }
}

fn draw_run(out: &mut String, baseline: f64, (column, cells, look, text): (u16, u16, Look, String)) {
    let start = u16::try_from(text.len() - text.trim_start().len()).unwrap_or_default();
    let shown = text.trim();
    if shown.is_empty() {
        return;
    }
    let x = MARGIN + f64::from(column + start) * CELL.0;
    // Whatever the font, columns stay columns.
    let trimmed = u16::try_from(text.chars().count() - shown.chars().count()).unwrap_or_default();
    let length = f64::from(cells - trimmed.min(cells - 1)) * CELL.0;
    let mut style = String::new();
    if look.colour != FOREGROUND {
        let _ = write!(style, r#" fill="{}""#, look.colour);
    }
    if look.bold {
        style.push_str(r#" font-weight="700""#);
    }
    if look.dim {
        style.push_str(r#" opacity="0.6""#);
    }
    if !ends_wide(shown) {
        let _ = write!(style, r#" textLength="{length:.1}" lengthAdjust="spacingAndGlyphs""#);
    }
    let _ = writeln!(out, r#"<text x="{x:.1}" y="{baseline:.1}"{style}>{}</text>"#, escaped(shown));
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
