/** What stands between `<!-- name:start -->` and `<!-- name:end -->`. */
export function marked(markdown: string, name: string): string {
  const match = new RegExp(`<!-- ${name}:start -->\\n([\\s\\S]*?)<!-- ${name}:end -->`).exec(markdown)
  if (!match) throw new Error(`there are no markers ${name}:start and ${name}:end`)
  return (match[1] ?? '').trim()
}

/** The cells of the marked table's rows, without its head, with backticks taken off. */
export function tableRows(markdown: string, name: string): string[][] {
  return marked(markdown, name)
    .split('\n')
    .filter(line => line.startsWith('|'))
    .slice(2)
    .map(line =>
      line
        .replace(/^\||\|$/g, '')
        .split('|')
        .map(cell => cell.trim().replace(/^`(.*)`$/, '$1')),
    )
}
