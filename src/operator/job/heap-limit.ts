const NODE_OPTIONS = 'NODE_OPTIONS'
const OVERRIDDEN = 'KAFKA_BACKUP_OVERRIDDEN_NODE_OPTIONS'
/** The rest is for buffers, which are outside of the heap, and for the runtime itself. */
const HEAP_SHARE = 0.5
const MIB = 1024 ** 2

interface GivenEnv {
  name: string
  [field: string]: unknown
}

/**
 * The user's variables with a heap limit that fits the memory limit of the container. Node.js alone reserves the same heap
 * for every limit up to 512 MiB, so the kernel would kill the process before it collects garbage. Options of the user come
 * last and win; a value from a secret or a ConfigMap cannot be extended and stays. One from `envFrom` is overridden, which
 * the process in the pod reports: the kubelet puts that value into the second variable, if there is one.
 */
export function withHeapLimit(
  given: readonly GivenEnv[],
  memoryLimit: string | number | undefined,
  hasEnvFrom = false,
): GivenEnv[] {
  const bytes = parseQuantity(memoryLimit)
  if (bytes === undefined || bytes < MIB) return [...given]
  const option = heapOptions(Math.max(8, Math.floor((bytes * HEAP_SHARE) / MIB)))
  const own = given.find(({ name }) => name === NODE_OPTIONS)
  const overridden = { name: OVERRIDDEN, value: `$(${NODE_OPTIONS})` }
  if (own === undefined) return [...(hasEnvFrom ? [overridden] : []), { name: NODE_OPTIONS, value: option }, ...given]
  if (typeof own.value !== 'string') return [...given]
  return given.map(one => (one === own ? { ...own, value: `${option} ${own.value}`.trimEnd() } : one))
}

/** Young objects have three semi-spaces in addition to the old space; by default these alone are 192 MiB. */
function heapOptions(heapMib: number): string {
  const semiMib = 2 ** Math.floor(Math.log2(Math.max(1, Math.min(heapMib / 16, 32))))
  return `--max-old-space-size=${heapMib - 3 * semiMib} --max-semi-space-size=${semiMib}`
}

const factors: Record<string, number> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 1024,
  Mi: MIB,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
  Pi: 1024 ** 5,
}

/** An amount as Kubernetes writes it; undefined for one that the API server would reject. */
export function parseQuantity(quantity: string | number | undefined): number | undefined {
  const [, digits = '', suffix = ''] = /^\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d+|[A-Za-z]{0,2})$/.exec(String(quantity)) ?? []
  if (digits === '') return undefined
  if (/^[eE][+-]?\d/.test(suffix)) return Number(digits + suffix)
  const factor = factors[suffix]
  return factor === undefined ? undefined : Number(digits) * factor
}
