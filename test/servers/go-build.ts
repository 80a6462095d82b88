import { mustDownload } from './download.ts'

/**
 * For all builds, so that they share what Go has compiled. Programs need no C compiler, and hold no paths and no data
 * for debuggers, which take a quarter of the compiler's time.
 */
export const goFlags = ['-trimpath', '-gcflags=all=-dwarf=false']

/** Builds a program of a module into the folder. Modules and build results stay where Go keeps them. */
export async function goInstall(module: string, dir: string): Promise<void> {
  await mustDownload('go', ['install', ...goFlags, '-ldflags=-s -w', module], {
    cwd: dir,
    env: { ...goEnv(), GOBIN: dir },
  })
}

export function goEnv(): NodeJS.ProcessEnv {
  return { ...process.env, CGO_ENABLED: '0' }
}
