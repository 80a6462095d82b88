import { mustDownload } from './download.ts'

/** Programs that need no C compiler and hold no paths, so that all builds share what Go has compiled. */
const portable = ['-trimpath', '-ldflags', '-s -w']

/** Builds a program of a module into the folder. Modules and build results stay where Go keeps them. */
export async function goInstall(module: string, dir: string): Promise<void> {
  await mustDownload('go', ['install', ...portable, module], { cwd: dir, env: { ...goEnv(), GOBIN: dir } })
}

export function goEnv(): NodeJS.ProcessEnv {
  return { ...process.env, CGO_ENABLED: '0' }
}
