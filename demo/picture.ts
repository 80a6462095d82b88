import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Draws docs/demo.svg from the output of a demo: `make picture`.
 * The picture scrolls through the chosen parts of the output like a terminal.
 */
const [log = ''] = process.argv.slice(2)
const rows = 26
const columns = 92
const lineHeight = 18
const secondsPerPart = 5
const parts = chooseParts(readFileSync(log, 'utf8').split('\n'))
writeFileSync(join(import.meta.dirname, '../docs/demo.svg'), draw(parts))

/** One screen each: a command with the lines that it printed, up to the next heading or command. */
function chooseParts(lines: readonly string[]): string[][] {
  const starts = [/^1\. /, /^2\. /, /^3\. /, /^\$ kafka-backup restore/, /^5\. /, /^7\. /, /^What you have seen/]
  return starts.map(start => {
    const from = lines.findIndex(line => start.test(line))
    if (from < 0) throw new Error(`${log}: no line matches ${start}`)
    return lines
      .slice(from, from + rows - 1)
      .filter(line => !/^(backup|verify|restore|compare): /.test(line))
      .map(line => (line.length > columns ? `${line.slice(0, columns - 1)}…` : line))
  })
}

function draw(screens: readonly string[][]): string {
  const width = columns * 8.4 + 32
  const height = rows * lineHeight + 48
  const total = screens.length * secondsPerPart
  const frames = screens.map((lines, at) => {
    const texts = lines.map((line, row) => drawLine(line, 52 + row * lineHeight)).join('\n')
    return `<g class="screen" style="animation-delay:${at * secondsPerPart - total}s">\n${texts}\n</g>`
  })
  const share = (100 / screens.length).toFixed(3)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="The demo of kafka-backup in a terminal">
<style>
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d7dce2; white-space: pre }
.command { fill: #7ee787 } .heading { fill: #79c0ff; font-weight: bold } .bad { fill: #ff7b72 }
.screen { visibility: hidden; animation: show ${total}s step-end infinite }
@keyframes show { 0% { visibility: visible } ${share}% { visibility: hidden } }
</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<circle cx="20" cy="18" r="6" fill="#ff5f56"/><circle cx="40" cy="18" r="6" fill="#ffbd2e"/><circle cx="60" cy="18" r="6" fill="#27c93f"/>
${frames.join('\n')}
</svg>
`
}

function drawLine(line: string, y: number): string {
  const style = line.startsWith('$ ') ? 'command' : /^\d\. |^What you/.test(line) ? 'heading' : ''
  const color = line.includes('DAMAGED') || line.includes('are deleted') ? 'bad' : style
  const text = line.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<text x="16" y="${y}"${color && ` class="${color}"`}>${text}</text>`
}
