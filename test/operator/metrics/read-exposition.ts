export interface ReadFamily {
  type: string
  help: string
  /** By name with labels, as `name{a="x",b="y"}` with the labels sorted. */
  samples: Map<string, number>
  /** The names of labels that occur, without `le`, sorted. */
  labels: Set<string>
}

/** Reads the text format strictly: what Prometheus would not take is an error. */
export function readExposition(text: string): Map<string, ReadFamily> {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const families = new Map<string, ReadFamily>()
  let current = ''
  for (const line of text.slice(0, -1).split('\n')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? []
    if (kind === 'HELP') {
      if (families.has(name)) throw new Error(`${name} comes twice`)
      families.set(name, { type: '', help: rest, samples: new Map(), labels: new Set() })
      current = name
    } else if (kind === 'TYPE') {
      const family = families.get(name)
      if (!family || name !== current) throw new Error(`${name} has no HELP before its TYPE`)
      family.type = rest
    } else if (line !== '') readSample(line, current, families.get(current))
  }
  return families
}

/** All samples of all families. */
export function readSamples(text: string): Map<string, number> {
  return new Map([...readExposition(text).values()].flatMap(({ samples }) => [...samples]))
}

function readSample(line: string, current: string, family: ReadFamily | undefined): void {
  const [, name = '', labels = '', value = ''] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
  const suffixes = family?.type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
  if (!family || !suffixes.some(suffix => name === current + suffix)) throw new Error(`not expected here: ${line}`)
  if (value === '' || Number.isNaN(Number(value))) throw new Error(`not a number: ${line}`)
  const pairs = [...labels.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)/g)]
  if (pairs.map(([whole]) => whole).join('') !== labels) throw new Error(`labels that cannot be read: ${line}`)
  const sorted = pairs.map(([, label, text]) => `${label}="${text}"`).sort()
  const key = sorted.length > 0 ? `${name}{${sorted.join(',')}}` : name
  if (family.samples.has(key)) throw new Error(`comes twice: ${line}`)
  family.samples.set(key, Number(value))
  for (const [, label = ''] of pairs) if (label !== 'le') family.labels.add(label)
}
