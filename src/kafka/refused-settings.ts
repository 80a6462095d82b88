import { KafkaBackupError } from '../errors.ts'

/** What a broker says to a topic and its settings. */
export interface SettingsAnswer {
  errorCode: number
  errorMessage: string | null
}

export interface RefusedSettings {
  settings: string[]
  /** Names the topic and the settings, with what the broker said to each. */
  error: KafkaBackupError
}

/** INVALID_CONFIG, INVALID_REQUEST and POLICY_VIOLATION. */
const ABOUT_SETTINGS = new Set([40, 42, 44])

/** Whether the answer is one to the settings, of which one or more are at fault. */
export function isAboutSettings({ errorCode }: SettingsAnswer): boolean {
  return ABOUT_SETTINGS.has(errorCode)
}

/**
 * All settings at fault: a broker names the first one only, or none, so each is put to it alone. Undefined where it has
 * nothing against any of them by itself.
 */
export async function findRefusedSettings(
  topic: string,
  configs: Readonly<Record<string, string | null>>,
  askAlone: (name: string, value: string | null) => Promise<SettingsAnswer | undefined>,
): Promise<RefusedSettings | undefined> {
  const settings: string[] = []
  const lines: string[] = []
  for (const [name, value] of Object.entries(configs)) {
    const answer = await askAlone(name, value)
    if (!answer || !isAboutSettings(answer)) continue
    settings.push(name)
    lines.push(`\`${name}: ${value}\` (${answer.errorMessage ?? 'no reason given'})`)
  }
  if (settings.length === 0) return undefined
  const message = `topic ${topic}: the broker does not take ${lines.join(', ')}`
  return { settings, error: new KafkaBackupError('KAFKA_REFUSED', message) }
}
