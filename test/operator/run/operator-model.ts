import { type AnyController, type Resource, resourceKinds } from '../../../src/operator/crd/resource.ts'
import {
  type ConfigMap,
  configMapKind,
  type Job,
  jobKind,
  type Pod,
  podKind,
} from '../../../src/operator/job/kube-job.ts'
import type { KubeObject } from '../../../src/operator/kube/object.ts'
import type { OperatorObserver } from '../../../src/operator/metrics/observer.ts'
import { Health } from '../../../src/operator/run/health.ts'
import type { FetchProgress, OperatorOptions } from '../../../src/operator/run/operator-options.ts'
import type { Planner } from '../../../src/operator/run/planner.ts'
import { runOperator } from '../../../src/operator/run/run-operator.ts'
import { type FakeCall, type FakeClient, FakeKube } from '../../fakes/fake-kube.ts'
import { SimulatedTime } from '../../fakes/simulated-time.ts'
import { plainPlanner } from './plain-planner.ts'

export const kinds = resourceKinds()
export const secretKind = { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' }
export const namespace = 'shop'

export interface StartOptions extends FakeClient, Partial<OperatorOptions> {
  planner?: Planner
  fetchProgress?: FetchProgress
}

/** A cluster in memory, in simulated time, with as many operators as a test starts. */
export class OperatorModel {
  readonly kube = new FakeKube()
  readonly time = new SimulatedTime()
  readonly calls: FakeCall[] = []
  readonly told: string[] = []
  readonly log: { level: string; message: string; fields: unknown }[] = []
  /** Names of all Jobs that ever were. */
  readonly jobsMade: string[] = []
  #operators = 0

  start(options: StartOptions = {}): RunningOperator {
    const { around, watchFault, isHeld, planner = plainPlanner, fetchProgress = unreachable, ...given } = options
    const clock = this.time.clock()
    const health = new Health(clock)
    const controller = new AbortController()
    const identity = `operator-${++this.#operators}`
    const api = this.kube.api({
      clock,
      ...(watchFault && { watchFault }),
      ...(isHeld && { isHeld }),
      around: (verb, act, signal, call) => {
        this.calls.push(call)
        const noting = () => act().then(result => this.#note(call, result))
        return around ? around(verb, noting, signal, call) : noting()
      },
    })
    const parts = {
      api,
      clock,
      random: () => 0.5,
      planner,
      fetchProgress,
      health,
      observer: this.#observer(),
      log: this.#log(),
    }
    const settings = { apiGroup: 'kafka-backup.dev', namespaces: [namespace], identity, workers: 4 }
    const lease = { namespace: 'system', name: 'operator' }
    const all: OperatorOptions = { ...settings, lease, progressIntervalMs: 5000, ...given }
    const ended = runOperator(all, parts, controller.signal)
    const stop = async () => {
      controller.abort(new Error('stopped'))
      await this.time.pass(0)
      await ended
    }
    return { identity, health, controller, ended, stop }
  }

  put(
    controller: AnyController,
    name: string,
    spec: Resource['spec'] = {},
    more: Partial<Resource['metadata']> = {},
  ): Resource {
    const { apiVersion, kind } = kinds[controller]
    const object: Resource = { apiVersion, kind, metadata: { name, namespace, ...more }, spec }
    return this.kube.put(kinds[controller], object) as Resource
  }

  get(name: string, controller: AnyController = 'backup'): Resource {
    const found = this.kube.all(kinds[controller]).find(({ metadata }) => metadata.name === name)
    if (found === undefined) throw new Error(`there is no ${controller} ${name}`)
    return found
  }

  get jobs(): Job[] {
    return this.kube.all(jobKind)
  }

  get configMaps(): ConfigMap[] {
    return this.kube.all(configMapKind)
  }

  /** The pods of all Jobs run and end by themselves, as a cluster would have it. */
  async runJobs(signal: AbortSignal, { runMs = 3000, isSuccess = true } = {}): Promise<void> {
    const clock = this.time.clock()
    const since = new Map<string, number>()
    while (!signal.aborted) {
      for (const job of this.jobs) {
        const { uid = '' } = job.metadata
        if (!since.has(uid)) this.startPod(job)
        since.set(uid, since.get(uid) ?? clock.monotonic())
        if (clock.monotonic() - (since.get(uid) ?? 0) >= runMs && job.status === undefined) this.endJob(job, isSuccess)
      }
      await clock.sleep(500, signal).catch(() => undefined)
    }
  }

  /** A finalizer keeps the pod after its deletion, as the kubelet does until the process has ended. */
  startPod(job: Job, ip = '10.0.0.1', finalizers: string[] = []): void {
    const { name, uid = '', labels = {}, annotations = {} } = job.metadata
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true }
    const metadata = { name: `${name}-pod`, namespace, labels, annotations, finalizers, ownerReferences: [owner] }
    const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata, status: { phase: 'Running', podIP: ip } }
    this.kube.put(podKind, pod)
  }

  endJob(job: Job, isSuccess = true): void {
    const type = isSuccess ? 'Complete' : 'Failed'
    const ended: Job = { ...job, status: { conditions: [{ type, status: 'True' }] } }
    this.kube.put(jobKind, ended)
  }

  #note<T>(call: FakeCall, result: T): T {
    if (call.verb === 'create' && call.kind === 'Job') this.jobsMade.push(call.ref.name)
    return result
  }

  #observer(): OperatorObserver {
    const tell = (text: string) => this.told.push(text)
    return {
      seen: (controller, { metadata }) => tell(`seen ${controller} ${metadata.name}`),
      gone: (controller, { name }) => tell(`gone ${controller} ${name}`),
      progressed: (_, { metadata }, run, { records }) => tell(`progressed ${metadata.name} ${run} ${records}`),
      ended: (_, { metadata }, { run, phase }) => tell(`ended ${metadata.name} ${run} ${phase}`),
      reconciled: (_, { name }, __, isFailed) => tell(`reconciled ${name} ${isFailed ? 'badly' : 'well'}`),
      queue: () => ({ depth: () => {}, added: () => {}, retried: () => {}, worked: () => {} }),
      leads: isLeader => tell(`leads ${isLeader}`),
      namespaceReadable: (namespace, isReadable) => tell(`readable ${namespace} ${isReadable}`),
    }
  }

  #log() {
    return {
      has: () => true,
      write: (level: string, message: string, fields: unknown = {}) => {
        this.log.push({ level, message, fields })
      },
    }
  }
}

export interface RunningOperator {
  identity: string
  health: Health
  controller: AbortController
  ended: Promise<void>
  stop(): Promise<void>
}

export function isWrite({ verb }: FakeCall): boolean {
  return !['get', 'getMetadata', 'list'].includes(verb)
}

export function isOfElection({ kind }: FakeCall): boolean {
  return kind === 'Lease'
}

export function putSecret(model: OperatorModel, name: string): void {
  const secret: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace } }
  model.kube.put(secretKind, secret)
}

const unreachable: FetchProgress = () => Promise.reject(new Error('no route to host'))
