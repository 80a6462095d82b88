import type { KeyObject } from 'node:crypto'
import * as z from 'zod'
import { unlessMissing } from '../archive/damage.ts'
import { KafkaBackupError } from '../errors.ts'
import { parseJson } from '../lib/json.ts'
import type { Storage } from '../storage/storage.ts'
import { EVIDENCE_FORMAT, sha256 } from './evidence.ts'
import { isSigned, keyIdOf } from './sign-evidence.ts'

/** The files of one drill, in its folder. */
export const EVIDENCE_FILES = {
  document: 'evidence.json',
  signature: 'evidence.json.sig',
  text: 'report.txt',
  html: 'report.html',
} as const

/** What verification reads of a document; newer minor additions do not matter to it. */
const documentSchema = z.object({
  format: z.literal(EVIDENCE_FORMAT),
  format_version: z.literal(1),
  run: z.string(),
  result: z.enum(['proven', 'failed']),
  backup: z.object({ id: z.string(), generation: z.number() }),
  scope: z.string(),
  started_at: z.string(),
  finished_at: z.string(),
  tool: z.object({ version: z.string() }),
  signer: z.object({ key_id: z.string() }).nullable(),
  reports: z.object({ text_sha256: z.string(), html_sha256: z.string() }),
})

export interface VerifiedEvidence {
  /** The signature of the given key is right, and the reports are those of the document. */
  ok: boolean
  problems: string[]
  /** Reports that are not there: the document is complete without them. */
  missing: string[]
  key_id: string
  evidence: z.output<typeof documentSchema>
}

/** Checks the files of a drill. Throws where there is no document that could be checked. */
export async function verifyEvidence(
  storage: Storage,
  publicKey: KeyObject,
  signal: AbortSignal,
): Promise<VerifiedEvidence> {
  const bytes = await storage.read(EVIDENCE_FILES.document, signal)
  const evidence = parseDocument(bytes, storage.location)
  const signature = await unlessMissing(storage.read(EVIDENCE_FILES.signature, signal))
  const [text, html] = [
    await unlessMissing(storage.read(EVIDENCE_FILES.text, signal)),
    await unlessMissing(storage.read(EVIDENCE_FILES.html, signal)),
  ]
  const { text_sha256, html_sha256 } = evidence.reports
  const problems = [
    ...findSignatureProblems(bytes, signature, publicKey, evidence.signer?.key_id),
    ...(text && sha256(text) !== text_sha256 ? [`${EVIDENCE_FILES.text} was changed: its hash differs`] : []),
    ...(html && sha256(html) !== html_sha256 ? [`${EVIDENCE_FILES.html} was changed: its hash differs`] : []),
  ]
  const missing = [...(text ? [] : [EVIDENCE_FILES.text]), ...(html ? [] : [EVIDENCE_FILES.html])]
  return { ok: problems.length === 0, problems, missing, key_id: keyIdOf(publicKey), evidence }
}

/** Pure. */
function findSignatureProblems(
  bytes: Uint8Array,
  signature: Uint8Array | undefined,
  key: KeyObject,
  signer: string | undefined,
): string[] {
  if (!signature) {
    return [signer === undefined ? 'the evidence is not signed' : `${EVIDENCE_FILES.signature} is missing`]
  }
  if (isSigned(bytes, signature, key)) return []
  const own = keyIdOf(key)
  const other = signer !== undefined && signer !== own ? `; the document names key ${signer}` : ''
  return [`the signature is not one of key ${own} over ${EVIDENCE_FILES.document}${other}`]
}

function parseDocument(bytes: Buffer, location: string): VerifiedEvidence['evidence'] {
  const parsed = documentSchema.safeParse(tryJson(bytes))
  if (parsed.success) return parsed.data
  throw new KafkaBackupError(
    'ARCHIVE_DAMAGED',
    `${EVIDENCE_FILES.document} at ${location} is not the evidence of a drill`,
    { help: 'Pass the folder of one drill, `<evidence>/<backup_id>/drills/<time>-<run>`.' },
  )
}

function tryJson(bytes: Buffer): unknown {
  try {
    return parseJson(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
