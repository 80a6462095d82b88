export interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

/** The samples of a page in the text format of Prometheus. */
export function parseSamples(text: string): Sample[] {
  const lines = text.split('\n').filter(line => line !== '' && !line.startsWith('#'))
  return lines.map(line => {
    const [, name = '', labels = '', value = ''] = /^([\w:]+)(?:\{(.*)\})? (\S+)/.exec(line) ?? []
    if (name === '') throw new Error(`not a sample: ${line}`)
    return { name, labels: parseLabels(labels), value: Number(value.replace('Inf', 'Infinity')) }
  })
}

/** The value of the one series that has these labels; more than one is an error. */
export function findSample(samples: readonly Sample[], name: string, labels: Record<string, string>) {
  const wanted = Object.entries(labels)
  const found = samples.filter(each => each.name === name && wanted.every(([key, value]) => each.labels[key] === value))
  if (found.length > 1) throw new Error(`${found.length} series ${name} have ${JSON.stringify(labels)}`)
  return found[0]?.value
}

function parseLabels(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)]
  return Object.fromEntries(pairs.map(([, key = '', value = '']) => [key, value.replace(/\\(.)/g, '$1')]))
}
