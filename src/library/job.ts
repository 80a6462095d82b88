import type { ClusterlessJobDocuments, ClusterlessJobOf, Job, JobDocuments, JobOf } from '../config/load-job.ts'

type Mode = Job['mode']

/** A job as a program writes it: the keys and values of a job file. */
export type BackupJobDocument = JobDocuments['backup']
export type RestoreJobDocument = JobDocuments['restore']

/** The path of a job file, an object with the keys of one, or what `loadJob` has made of either. */
export type JobInput<M extends Mode = Mode> = string | JobDocuments[M] | JobOf<M>

/** The same for schemas alone: a job that needs no `source` or `target`. */
export type SchemaJobInput<M extends Mode = Mode> = string | ClusterlessJobDocuments[M] | ClusterlessJobOf<M>

export interface LoadJobOptions<M extends Mode = Mode> {
  /** What `${VAR}` refers to. Without it: `process.env` for a file; texts of an object stay as they are. */
  env?: Readonly<Record<string, string | undefined>> | undefined
  /** `path=value` texts as `--set` takes them, such as `backup.compression=none`. */
  set?: readonly string[] | undefined
  /** A job of another mode is refused. */
  mode?: M
}

/**
 * Reads and checks a job without running it. The result has every default in place, sizes in bytes and durations in
 * milliseconds. Fails with CONFIG_UNREADABLE or, naming all that is wrong at once, with CONFIG_INVALID.
 */
export async function loadJob<M extends Mode = Mode>(path: string, options?: LoadJobOptions<M>): Promise<JobOf<M>>
export async function loadJob(
  job: BackupJobDocument | JobOf<'backup'>,
  options?: LoadJobOptions<'backup'>,
): Promise<JobOf<'backup'>>
export async function loadJob(
  job: RestoreJobDocument | JobOf<'restore'>,
  options?: LoadJobOptions<'restore'>,
): Promise<JobOf<'restore'>>
export async function loadJob(job: JobInput, options: LoadJobOptions = {}): Promise<Job> {
  return jobOf(job, options.mode, options)
}

/** What `loadJob` has answered with. Copies are not included, because they may have been changed. */
const loaded = new WeakSet<object>()

/** The job of a call; it must be of the mode where one is given. */
export async function jobOf<M extends Mode = Mode>(
  input: JobInput<M>,
  mode: M | undefined,
  { env, set }: LoadJobOptions = {},
): Promise<JobOf<M>> {
  if (isLoaded(input, mode) && !set?.length) return input
  const { loadJob: loadFile, readJob } = await import('../config/load-job.ts')
  const wanted = { ...(set && { set }), ...(mode && { mode }) }
  const job =
    typeof input === 'string'
      ? await loadFile<M>(input, { ...wanted, env: env ?? process.env })
      : readJob<M>(input, { ...wanted, ...(env && { env }), source: 'the job' })
  loaded.add(job)
  return job
}

/** The job of a call that needs no cluster. */
export async function clusterlessJobOf<M extends Mode = Mode>(
  input: SchemaJobInput<M>,
  mode: M | undefined,
): Promise<ClusterlessJobOf<M>> {
  if (isLoaded(input as JobInput<M>, mode)) return input as ClusterlessJobOf<M>
  const { loadClusterlessJob, readClusterlessJob } = await import('../config/load-job.ts')
  const wanted = { ...(mode && { mode }) }
  if (typeof input === 'string') return loadClusterlessJob<M>(input, { ...wanted, env: process.env })
  return readClusterlessJob<M>(input, { ...wanted, source: 'the job' })
}

function isLoaded<M extends Mode>(input: JobInput<M>, mode: M | undefined): input is JobOf<M> {
  return typeof input === 'object' && loaded.has(input) && (mode === undefined || input.mode === mode)
}
