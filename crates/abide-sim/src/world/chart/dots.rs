//! The picture as dots.

use plotters::prelude::*;

use super::{NotDrawn, Report, SIZE, draw};

/// Draws a run that was [watched](super::super::Plan::watched), as PNG.
///
/// # Errors
/// When the drawing fails, which is not expected of one in memory.
pub fn png(title: &str, report: &Report) -> Result<Vec<u8>, NotDrawn> {
    let mut dots = vec![0; 3 * SIZE.0 as usize * SIZE.1 as usize];
    let root = BitMapBackend::with_buffer(&mut dots, SIZE).into_drawing_area();
    draw(root, title, report).map_err(|e| NotDrawn(e.to_string()))?;
    encode(&dots).map_err(|e| NotDrawn(e.to_string()))
}

fn encode(dots: &[u8]) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, SIZE.0, SIZE.1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(dots)?;
    writer.finish()?;
    Ok(bytes)
}
