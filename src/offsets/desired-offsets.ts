import type { GroupNow } from './group-now.ts'
import { desiredByHeaders } from './header-offsets.ts'
import type { OffsetsPort } from './offsets-port.ts'
import { type DesiredOffsets, desiredByMapping, desiredFromOrigin } from './origin-offsets.ts'
import type { ResetRequest } from './reset-request.ts'
import { desiredByStrategy } from './strategy-offsets.ts'

/** The offsets that a request selects for each group; an error where a group has nothing to be set. */
export async function desiredOf(
  request: ResetRequest,
  groups: readonly GroupNow[],
  port: OffsetsPort,
  signal: AbortSignal,
): Promise<DesiredOffsets> {
  const names = groups.map(({ group }) => group)
  switch (request.strategy) {
    case 'from_backup':
      return desiredFromOrigin(request.origin, names, request.selection)
    case 'from_mapping':
      return desiredByMapping(request.mapping, request.origin, names, request.selection)
    case 'header_based':
      return desiredByHeaders(request, names, port, signal)
    default:
      return desiredByStrategy(request, groups, port, signal)
  }
}
