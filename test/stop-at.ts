/**
 * Preloaded into a program that a test interrupts when its errors' stream has matched: it stops itself there. On a busy machine it would
 * otherwise have ended before the signal comes.
 */
const when = new RegExp(process.env.STOP_AT ?? '(?!)')
const write = process.stderr.write.bind(process.stderr) as (...args: unknown[]) => boolean
const SIGNAL_MS = 100
let text: string | undefined = ''

process.stderr.write = (...args: unknown[]) => {
  // What goes to a pipe is there when this returns.
  const isTaken = write(...args)
  if (text === undefined) return isTaken
  text += args[0]
  if (when.test(text)) {
    text = undefined
    process.kill(process.pid, 'SIGSTOP')
    // Another thread may take the signals. Without this wait the program could go on, and end, before that one has.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SIGNAL_MS)
  }
  return isTaken
}
