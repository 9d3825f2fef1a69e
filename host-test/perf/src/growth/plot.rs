//! Plain line plots as SVG, one or more beside each other over the same places.

use std::{fs, path::Path};

use anyhow::{Context, anyhow};
use plotters::prelude::*;

/// Colours that are distinct in print and by most eyes (Okabe and Ito).
const COLOURS: [RGBColor; 5] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(110, 110, 110),
];
const PANEL: (u32, u32) = (430, 360);

/// A figure over what it grows with.
pub(crate) struct Plot {
    /// The file's name, without its ending.
    pub(crate) name: &'static str,
    /// What is on the horizontal axis.
    pub(crate) over: &'static str,
    /// The places there.
    pub(crate) places: Vec<usize>,
    pub(crate) panels: Vec<Panel>,
}

pub(crate) struct Panel {
    /// What is measured, and its unit.
    pub(crate) title: &'static str,
    pub(crate) lines: Vec<Line>,
}

/// A figure for each place, as far as there is one.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) figures: Vec<f64>,
}

impl Panel {
    pub(crate) fn new(title: &'static str) -> Self {
        Self { title, lines: Vec::new() }
    }

    pub(crate) fn line(mut self, name: impl Into<String>, figures: Vec<f64>) -> Self {
        self.lines.push(Line { name: name.into(), figures });
        self
    }
}

impl Plot {
    /// Draws it, and says where it is.
    pub(crate) fn draw(&self, folder: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(folder)?;
        let path = folder.join(self.name).with_extension("svg");
        let panels = u32::try_from(self.panels.len())?;
        {
            let root = SVGBackend::new(&path, (PANEL.0 * panels, PANEL.1)).into_drawing_area();
            root.fill(&WHITE).map_err(|error| anyhow!("{error}"))?;
            let areas = root.split_evenly((1, self.panels.len()));
            for (panel, area) in self.panels.iter().zip(&areas) {
                self.panel(panel, area).map_err(|error| anyhow!("{}: {error}", path.display()))?;
            }
            root.present().map_err(|error| anyhow!("{error}"))?;
        }
        let size = fs::metadata(&path).with_context(|| path.display().to_string())?.len();
        println!("{}: {} KiB\n", path.display(), size.div_ceil(1024));
        Ok(())
    }

    fn panel(
        &self,
        panel: &Panel,
        area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let figures = panel.lines.iter().flat_map(|line| &line.figures);
        let most = figures.fold(1.0_f64, |most, figure| most.max(*figure));
        let last = i32::try_from(self.places.len())?;
        let place = |at: &i32| {
            let place = usize::try_from(*at).ok().and_then(|at| self.places.get(at));
            place.map_or(String::new(), |place| grouped(*place))
        };
        // Room for the names above the lines.
        let up = 0.0..most * (1.1 + 0.09 * panel.lines.len() as f64);
        let mut chart = ChartBuilder::on(area)
            .margin(10)
            .margin_right(16)
            .caption(panel.title, ("sans-serif", 15).into_font().color(&BLACK))
            .x_label_area_size(38)
            .y_label_area_size(46)
            .build_cartesian_2d(-1..last, up)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.12))
            .x_desc(self.over)
            .x_labels(self.places.len() + 2)
            .x_label_formatter(&place)
            .y_label_formatter(&|figure| {
                if most < 8.0 { format!("{figure:.1}") } else { format!("{figure:.0}") }
            })
            .label_style(("sans-serif", 12))
            .axis_desc_style(("sans-serif", 13))
            .draw()?;
        for (line, colour) in panel.lines.iter().zip(COLOURS) {
            let points: Vec<(i32, f64)> = (0..).zip(line.figures.iter().copied()).collect();
            chart
                .draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?
                .label(line.name.clone())
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(3)));
            chart.draw_series(points.into_iter().map(|point| Circle::new(point, 3, colour.filled())))?;
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.85))
            .label_font(("sans-serif", 12))
            .draw()?;
        Ok(())
    }
}

/// 100000 as 100,000.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}
