import { randomUUID } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import { allControllers, controllers, type Resource, resourceKinds } from '../crd/resource.ts'
import type { EndedRun } from '../crd/status.ts'
import { openKubeClient } from '../kube/client.ts'
import { findCredentials } from '../kube/credentials.ts'
import { type Description, describeResource } from './describe.ts'
import { type FoundResource, findResource, findResources } from './find-resources.ts'
import { type LogRequest, readRunLog } from './follow-logs.ts'
import { type ResourceSummary, summarize } from './summarize.ts'
import { triggerRun, waitForEnd } from './trigger-run.ts'

export interface PluginOptions {
  kubeconfig: string | undefined
  context: string | undefined
  /** That of the context where it is not given. */
  namespace: string | undefined
  allNamespaces: boolean
  apiGroup: string
}

export interface TriggeredRun {
  found: FoundResource
  run: string
}

/** What the kubectl plugin does, with the credentials of its user. */
export interface Plugin {
  /** `onLeftOut` gets the reason why storages are not listed. */
  status(names: readonly string[], onLeftOut: (reason: string) => void, signal: AbortSignal): Promise<ResourceSummary[]>
  describe(names: readonly string[], signal: AbortSignal): Promise<Description>
  logs(
    names: readonly string[],
    request: LogRequest,
    onPod: (pod: string, run: string) => void,
    signal: AbortSignal,
  ): AsyncIterable<Buffer>
  /** Resolves when the operator has started the run. */
  trigger(names: readonly string[], onWait: (message: string) => void, signal: AbortSignal): Promise<TriggeredRun>
  /** Resolves when the run has ended. */
  waitForEnd(triggered: TriggeredRun, onProgress: (resource: Resource) => void, signal: AbortSignal): Promise<EndedRun>
  close(): void
}

export async function openPlugin(
  options: PluginOptions,
  { clock, env }: { clock: Clock; env: Readonly<Record<string, string | undefined>> },
): Promise<Plugin> {
  const { kubeconfig, context, apiGroup } = options
  const access = await findCredentials(kubeconfig, env, { context, mayExec: true })
  const client = openKubeClient(access, { clock })
  const own = options.namespace ?? access.namespace ?? 'default'
  const here = { apiGroup, namespace: own, kinds: controllers }
  const kinds = resourceKinds(apiGroup)
  const parts = { api: client, clock, kinds, apiGroup, id: randomUUID().slice(0, 8) }
  return {
    status: async (names, onLeftOut, signal) => {
      const namespace = options.allNamespaces ? undefined : own
      const scope = { apiGroup, namespace, kinds: allControllers, onLeftOut }
      const found = await findResources(client, scope, names, signal)
      return found.map(({ controller, resource }) => summarize(controller, resource))
    },
    describe: async (names, signal) =>
      describeResource(
        client,
        await findResource(client, { ...here, kinds: allControllers }, names, signal),
        apiGroup,
        signal,
      ),
    async *logs(names, request, onPod, signal) {
      const found = await findResource(client, here, names, signal)
      const read = async () => {
        const { name, namespace } = found.resource.metadata
        return { ...found, resource: await client.get(kinds[found.controller], { namespace, name }, signal) }
      }
      yield* readRunLog(found, request, { client, clock, apiGroup, read, onPod }, signal)
    },
    trigger: async (names, onWait, signal) => {
      const found = await findResource(client, here, names, signal)
      return { found, run: await triggerRun(found, { ...parts, onWait }, signal) }
    },
    waitForEnd: ({ found, run }, onProgress, signal) => waitForEnd(found, run, parts, onProgress, signal),
    close: () => client.close(),
  }
}
