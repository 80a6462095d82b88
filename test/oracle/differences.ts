import type { OracleRecord } from './records.ts'

/** The first differences between two rows of records as lines for people; empty where the rows are the same. */
export function findDifferences(expected: OracleRecord[], actual: OracleRecord[], limit: number): string[] {
  const lines: string[] = []
  if (expected.length !== actual.length) lines.push(`${expected.length} records expected, ${actual.length} found`)
  const common = Math.min(expected.length, actual.length)
  for (let index = 0; index < common && lines.length < limit; index++) {
    lines.push(...compareRecords(expected[index], actual[index]).map(line => `${place(index, actual[index])}: ${line}`))
  }
  if (lines.length < limit && expected.length !== actual.length) {
    const [longer, word] = expected.length > actual.length ? [expected, 'missing'] : [actual, 'surplus']
    lines.push(`${word} from ${place(common, longer[common])}: ${describeRecord(longer[common])}`)
  }
  return lines.slice(0, limit)
}

function compareRecords(expected: OracleRecord | undefined, actual: OracleRecord | undefined): string[] {
  if (expected === undefined || actual === undefined) return []
  const lines: string[] = []
  const compare = (field: string, want: string, got: string, same: boolean) => {
    if (!same) lines.push(`${field} expected ${want}, found ${got}`)
  }
  const { key, value, headers, timestamp } = expected
  compare('key', describeBytes(key), describeBytes(actual.key), sameBytes(key, actual.key))
  compare('value', ...describePair(value, actual.value), sameBytes(value, actual.value))
  compare('timestamp', String(timestamp), String(actual.timestamp), timestamp === actual.timestamp)
  compare('headers', describeHeaders(headers), describeHeaders(actual.headers), sameHeaders(headers, actual.headers))
  return lines
}

function sameBytes(one: Buffer | null, other: Buffer | null): boolean {
  return one === null || other === null ? one === other : one.equals(other)
}

function sameHeaders(one: OracleRecord['headers'], other: OracleRecord['headers']): boolean {
  return (
    one.length === other.length &&
    one.every(([name, value], index) => {
      const twin = other[index]
      return twin !== undefined && twin[0] === name && sameBytes(twin[1], value)
    })
  )
}

function place(index: number, record: OracleRecord | undefined): string {
  return record?.offset === undefined ? `index ${index}` : `index ${index} (offset ${record.offset})`
}

function describeRecord(record: OracleRecord | undefined): string {
  if (record === undefined) return 'nothing'
  return `key ${describeBytes(record.key)}, value ${describeBytes(record.value)}, timestamp ${record.timestamp}`
}

function describeHeaders(headers: OracleRecord['headers']): string {
  return `[${headers.map(([name, value]) => `${name}=${describeBytes(value)}`).join(', ')}]`
}

/** Shows two long values around their first different byte. */
function describePair(one: Buffer | null, other: Buffer | null): [string, string] {
  if (one === null || other === null) return [describeBytes(one), describeBytes(other)]
  let from = 0
  while (from < one.length && one[from] === other[from]) from++
  return [describeBytes(one, from), describeBytes(other, from)]
}

function describeBytes(bytes: Buffer | null, around = 0): string {
  if (bytes === null) return 'null'
  const from = Math.max(0, around - 8)
  const shown = bytes.subarray(from, from + 32)
  const text = /^[\x20-\x7e]*$/.test(shown.toString('latin1')) ? `'${shown}'` : `0x${shown.toString('hex')}`
  return shown.length === bytes.length ? text : `${text} at byte ${from} of ${bytes.length}`
}
