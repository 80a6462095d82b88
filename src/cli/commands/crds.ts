import type { Session } from '../session.ts'
import { readApiGroup } from './operator.ts'

export async function run(session: Session): Promise<number> {
  const { yaml, list } = await session.actions.printDefinitions(readApiGroup(session.options))
  session.print(
    () => [yaml],
    () => list,
  )
  return 0
}
