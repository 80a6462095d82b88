const byteFactors: Record<string, number> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
}
const msFactors: Record<string, number> = { ms: 1, s: 1e3, m: 60e3, h: 3600e3, d: 86400e3 }

/** `128MiB`, `1.5 GB`, `4096`; undefined if the text is not a size. */
export function parseBytes(text: string): number | undefined {
  return parseWithUnit(text, byteFactors)
}

/** `500ms`, `30s`, `5m`, `2h`, `7d`; undefined if the text is not a duration. A number without a unit is not one. */
export function parseDurationMs(text: string): number | undefined {
  return parseWithUnit(text, msFactors)
}

function parseWithUnit(text: string, factors: Record<string, number>): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(text)
  const factor = match ? factors[(match[2] ?? '').toLowerCase()] : undefined
  if (!match || factor === undefined) return undefined
  const value = Math.round(Number(match[1]) * factor)
  return Number.isSafeInteger(value) ? value : undefined
}

export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']
  let value = bytes
  let unit = 0
  // Rounded first: just below a unit's end is the next unit's beginning, not `1024`.
  while (Number(value.toFixed(unit === 0 ? 0 : 1)) >= 1023.5 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return unit === 0 ? `${value} B` : `${value >= 100 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`
}

export function formatCount(count: number | bigint): string {
  return count.toString().replace(/\B(?=(\d{3})+(?!\d))/g, ',')
}

export function formatDuration(ms: number): string {
  // As with sizes, what rounds up to the next unit's beginning is shown in that unit.
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1e3).toFixed(1)} s`
  const seconds = Math.round(ms / 1e3)
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  const two = (n: number) => String(n).padStart(2, '0')
  return h > 0 ? `${h}h ${two(m)}m` : `${m}m ${two(s)}s`
}

const ages: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
]

/** How long ago something was, in its largest unit. */
export function formatAgo(time: string, nowMs: number): string {
  const ms = nowMs - Date.parse(time)
  if (!Number.isFinite(ms)) return 'unknown'
  const [size, unit] = ages.find(([one]) => ms >= one) ?? [1000, 's']
  return ms < 1000 ? 'just now' : `${Math.floor(ms / size)} ${unit} ago`
}
