import { hasCode } from '../../errors.ts'
import { append } from '../../lib/largest.ts'
import type { KubeList, ListScope } from './kube-api.ts'
import { KubeError } from './kube-error.ts'
import type { KubeObject, ResourceKind } from './object.ts'
import { type Page, planList } from './plan-request.ts'
import type { Transport } from './transport.ts'

const PAGE_OBJECTS = 500

/** All pages of a list. Pages that expire on the way are followed by one answer that holds all. */
export async function listPages<T extends KubeObject>(
  transport: Transport,
  kind: ResourceKind<T>,
  scope: ListScope,
  signal: AbortSignal,
): Promise<KubeList<T>> {
  const ask = (page: Page) => askPage(transport, kind, scope, page, signal)
  const items: T[] = []
  let page = await ask({ limit: PAGE_OBJECTS })
  append(items, page.items)
  while (page.next !== '') {
    try {
      page = await ask({ limit: PAGE_OBJECTS, continue: page.next })
    } catch (error) {
      if (!hasCode(error, 'KUBE_GONE')) throw error
      return ask({})
    }
    append(items, page.items)
  }
  return { items, resourceVersion: page.resourceVersion }
}

async function askPage<T extends KubeObject>(
  transport: Transport,
  kind: ResourceKind<T>,
  scope: ListScope,
  page: Page,
  signal: AbortSignal,
): Promise<KubeList<T> & { next: string }> {
  const request = planList(kind, scope, page)
  const { metadata, items } = (await transport.send(request, signal)) as {
    metadata?: { resourceVersion?: string; continue?: string; remainingItemCount?: number }
    items?: T[] | null
  }
  if (metadata?.resourceVersion === undefined) {
    throw new KubeError('KUBE_PROTOCOL', `cannot ${request.where}: the answer is not a list`)
  }
  const { continue: next = '', remainingItemCount: left = 0 } = metadata
  if (next === '' && left > 0) {
    const what = `the answer leaves out ${left} objects, and does not say where they are`
    throw new KubeError('KUBE_PROTOCOL', `cannot ${request.where}: ${what}`)
  }
  // Items of a list come without what the list says for all of them.
  const { apiVersion, kind: name } = kind
  const whole = (items ?? []).map(item => ({ ...item, apiVersion, kind: name }))
  return { items: whole, resourceVersion: metadata.resourceVersion, next }
}
