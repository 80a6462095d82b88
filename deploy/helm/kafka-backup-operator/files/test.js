const url = process.env.METRICS_URL
const deadline = Date.now() + Number(process.env.TIMEOUT_MS ?? 60000)
const check = async () => {
  const response = await fetch(url, { signal: AbortSignal.timeout(5000) })
  const text = await response.text()
  const expected = Number(process.env.EXPECTED_STATUS ?? 200)
  if (response.status !== expected) throw new Error(`status ${response.status}`)
  if (expected !== 200) {
    process.stdout.write(`the operator is ready and serves ${url} to users with a token only\n`)
    return
  }
  const [, version] = /^kafka_backup_operator_build_info\{version="([^"]*)"\} 1$/m.exec(text) ?? []
  if (version === undefined) throw new Error('the answer has no kafka_backup_operator_build_info')
  process.stdout.write(`operator ${version} is ready and serves ${url}\n`)
}
const run = async () => {
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (Date.now() > deadline) {
        const cause = error.cause?.message ?? error.message
        process.stderr.write(
          `${url}: ${cause}. Is a replica ready? See kubectl get pods and the log of the operator.\n`,
        )
        process.exitCode = 1
        return
      }
      await new Promise(resolve => setTimeout(resolve, 1000))
    }
  }
}
run()
