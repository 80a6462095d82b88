import type { JsonObject } from '../../../archive/registry-model.ts'
import type { RestoreStep, Scope } from './restore-step.ts'

/** Pure. What a step does, for messages: continues after `to`. */
export function describeStep(step: RestoreStep): string {
  switch (step.type) {
    case 'journal':
      return 'write the journal'
    case 'verify':
      return 'compare the registry with the plan'
    case 'set-mode':
      return `set the mode of ${describeScope(step.scope)} to ${step.mode}`
    case 'delete-mode':
      return `remove the mode of ${describeScope(step.scope)}`
    case 'set-config':
      return `set ${describeConfig(step.compatibility, step.config)} of ${describeScope(step.scope)}`
    case 'delete-config':
      return `remove the level and settings of ${describeScope(step.scope)}`
    case 'register':
      return `register version ${step.version} of subject ${step.subject}${step.id === null ? '' : ` with ID ${step.id}`}`
    case 'delete-version':
      return `${step.permanent ? 'remove' : 'delete'} version ${step.version} of subject ${step.subject}`
    case 'delete-subject':
      return `remove subject ${step.subject}`
    default:
      return step satisfies never
  }
}

export function describeScope(scope: Scope): string {
  switch (scope.kind) {
    case 'global':
      return 'the whole registry'
    case 'context':
      return `the context ${scope.context}`
    case 'subject':
      return `subject ${scope.subject}`
    default:
      return scope satisfies never
  }
}

function describeConfig(compatibility: string | null, config: JsonObject | null): string {
  const level = compatibility === null ? [] : [`the level ${compatibility}`]
  const settings = config === null ? [] : [`the settings ${Object.keys(config).join(', ')}`]
  return [...level, ...settings].join(' and ')
}

/** The messages that users of restores know; each says what to do. */
export function registrationFailed(subject: string, reason: string): string {
  return (
    `Schema registration failed for subject ${subject}: ${reason.replace(/\.$/, '')}. Where an earlier schema is incompatible, set ` +
    'restore.set_compatibility to NONE, or restore.force_register to true (dangerous)'
  )
}

export function idNotFound(id: string, reason: string, advice: string): string {
  return `Schema ID ${id} not found in target registry: ${reason}. ${advice}`
}

export function referenceNotFound(subject: string, reason: string, advice: string): string {
  return `Reference to subject ${subject} not found: ${reason}. ${advice}`
}
