import { KafkaBackupError, usageError } from '../../errors.ts'
import type { Session } from '../session.ts'

/** Asks again for an answer that is wrong: the earlier ones would be lost. A wrong option is an error. */
export async function parseAnswer<T>(
  session: Session,
  given: string | undefined,
  parse: (text: string) => T,
  ask: () => Promise<string>,
): Promise<T> {
  for (;;) {
    const text = given ?? (await ask())
    try {
      return parse(text)
    } catch (error) {
      const isAsked = given === undefined && session.canAsk && !session.options.yes
      if (!isAsked || !(error instanceof KafkaBackupError)) throw error
      session.tell(() => [error.message])
    }
  }
}

export async function answerList(
  session: Session,
  question: string,
  given: readonly string[],
  proposed: readonly string[],
): Promise<readonly string[]> {
  if (given.length > 0) return given
  const text = await answer(session, `${question}, separated by commas`, '', proposed.join(','))
  return text.split(',').flatMap(one => (one.trim() === '' ? [] : [one.trim()]))
}

/** The answer on the terminal, or the proposal where there is none or `--yes` is given. */
export async function answer(session: Session, question: string, option: string, proposed?: string): Promise<string> {
  const { yes } = session.options
  if (yes || !session.canAsk) {
    if (proposed !== undefined) return proposed
    throw usageError(`pass ${option}: ${yes ? 'it has no default' : 'there is no terminal to ask on'}`)
  }
  for (;;) {
    const text = (await session.question(`${question}${proposed ? ` [${proposed}]` : ''}: `)).trim()
    if (text !== '') return text
    if (proposed !== undefined) return proposed
  }
}
