import { systemProgram } from './system-program.ts'

/** Chromium of the system. */
export function chromiumBinary(): Promise<string> {
  return systemProgram('chromium', 'chromium')
}
