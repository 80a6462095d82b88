/** One instruction: `RUN` and what follows it, without continuation lines. */
export interface Instruction {
  keyword: string
  text: string
}

export interface Stage {
  base: string
  name: string
  instructions: Instruction[]
  /** What the arguments before the first stage have as defaults; `ARG NAME` alone brings one into a stage. */
  globals: Record<string, string>
}

/** What a builder of images reads: stages in their order. */
export function parseDockerfile(text: string): Stage[] {
  const stages: Stage[] = []
  const globals: Record<string, string> = {}
  for (const instruction of parseInstructions(text)) {
    if (instruction.keyword === 'FROM') {
      const [base = '', , name = String(stages.length)] = instruction.text.split(/\s+/)
      stages.push({ base: fillIn(base, globals), name, instructions: [], globals })
    } else if (stages.length === 0 && instruction.keyword === 'ARG') {
      Object.assign(globals, parsePairs(instruction.text))
    } else {
      stages.at(-1)?.instructions.push(instruction)
    }
  }
  return stages
}

/** `a=b c="d e"` as pairs, as ENV and LABEL have them. */
export function parsePairs(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))/g)]
  return Object.fromEntries(pairs.map(([, name = '', quoted, plain = '']) => [name, quoted ?? plain]))
}

/** `${NAME}` with the value of the argument. */
export function fillIn(text: string, args: Record<string, string>): string {
  return text.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => args[name] ?? '')
}

function parseInstructions(text: string): Instruction[] {
  const lines = text.split('\n').filter(line => !line.startsWith('#'))
  return lines
    .join('\n')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
    .map(line => {
      const [keyword = ''] = line.split(/\s/)
      return { keyword, text: line.slice(keyword.length).trim() }
    })
}
