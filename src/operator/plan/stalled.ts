/** Why a continuous backup stopped for good, with what to do. */
export function stalledMessage(message = 'The backup stopped.'): string {
  return `${message} It is not restarted automatically: correct the cause, then set the trigger annotation or change the spec.`
}
