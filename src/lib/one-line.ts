/** What another program wrote, as one line of at most so many characters. */
export function oneLine(text: string, maxLength = 300): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length > maxLength ? `${line.slice(0, maxLength)}…` : line
}
