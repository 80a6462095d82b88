import { readFile } from 'node:fs/promises'
import { joinSubject, splitSubject } from '../../archive/registry-model.ts'
import { KafkaBackupError } from '../../errors.ts'

const FIELD = 'enterprise.schema_registry.restore.id_mapping_file'
const MAX_ID = 0x7fff_ffff

/** Source ID to target ID as somebody wrote it down, `{"5": 12}`; `:.context:5` is one of another context. */
export async function readIdMapping(path: string): Promise<Map<string, number>> {
  const tree = parse(await read(path), path)
  const mapping = new Map<string, number>()
  for (const [key, target] of Object.entries(tree)) {
    const { context, name } = splitSubject(key)
    if (!/^[1-9]\d*$/.test(name) || Number(name) > MAX_ID) {
      throw invalid(path, `${JSON.stringify(key)} is not a schema ID; write "5", or ":.context:5"`)
    }
    if (!isId(target)) throw invalid(path, `${key} is mapped to ${JSON.stringify(target)}, which is not a schema ID`)
    mapping.set(joinSubject({ context, name }), target)
  }
  return mapping
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    const { message } = cause as Error
    throw new KafkaBackupError('CONFIG_UNREADABLE', `${FIELD}: ${path} cannot be read: ${message}`, { cause })
  }
}

function parse(text: string, path: string): Record<string, unknown> {
  let tree: unknown
  try {
    tree = JSON.parse(text)
  } catch (cause) {
    throw invalid(path, 'it is not JSON', cause)
  }
  if (typeof tree === 'object' && tree !== null && !Array.isArray(tree)) return tree as Record<string, unknown>
  throw invalid(path, 'it is not a JSON object of source IDs to target IDs')
}

function isId(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_ID
}

function invalid(path: string, wrong: string, cause?: unknown): KafkaBackupError {
  return new KafkaBackupError('CONFIG_INVALID', `${FIELD}: ${path}: ${wrong}`, { cause })
}
