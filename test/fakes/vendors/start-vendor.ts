import { RegistryFault } from '../../../src/registry/serve/registry-fault.ts'
import type { RegistryStore } from '../../../src/registry/serve/registry-store.ts'
import { type HttpScript, startHttpScript } from '../http-script.ts'
import { scriptAxonops } from './axonops.ts'
import { scriptConfluent } from './confluent.ts'
import { scriptKarapace } from './karapace.ts'
import type { VendorName, VendorOptions, VendorScript } from './vendor-script.ts'

const scripts: Record<VendorName, (options: VendorOptions) => VendorScript> = {
  confluent: scriptConfluent,
  karapace: scriptKarapace,
  axonops: scriptAxonops,
}

/** Called before each answer; what it throws is the answer. */
type OnRequest = (call: { method: string; target: string }) => void

export interface VendorRegistry extends HttpScript {
  /** What stands behind the answers. */
  store: RegistryStore
}

/** A registry that takes and answers requests as one vendor's does, in all that was seen to differ. */
export async function startVendor(
  name: VendorName,
  { onRequest, ...options }: VendorOptions & { onRequest?: OnRequest } = {},
): Promise<VendorRegistry> {
  const { store, answer } = scripts[name](options)
  const script = await startHttpScript(request => {
    const { method, path, query } = request
    try {
      onRequest?.({ method, target: `${path}${query.size === 0 ? '' : `?${query}`}` })
      return answer(request)
    } catch (error) {
      if (!(error instanceof RegistryFault)) throw error
      const { status, errorCode, message } = error
      return { status, json: { error_code: errorCode, message } }
    }
  })
  return { ...script, store }
}
