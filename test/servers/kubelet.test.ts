import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { expand } from './kubelet-env.ts'
import { kafkaBackupImage, machineImage } from './kubelet-images.ts'
import type { Pod, PodSpec } from './kubelet-pod-spec.ts'
import {
  createMap,
  createPod,
  createSecret,
  endsOf,
  messageOf,
  runPod,
  shell,
  useKube,
  waitForLog,
} from './use-kube.ts'

const node = { ...machineImage, folders: { '/node': join(process.execPath, '..') } }
const use = useKube({ images: { node, 'kafka-backup:test': kafkaBackupImage() } })

test('the environment comes from values, secrets and fields', async () => {
  const namespace = await use.kube.makeNamespace('env')
  await createSecret(use, namespace, 'login', { username: 'jane', password: 'p$(A)ss' })
  const container = shell('printenv > /dev/termination-log', {
    env: [
      { name: 'A', value: 'a' },
      { name: 'B', value: '$(A)-$(NONE)-$$(A)' },
      { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'login', key: 'password' } } },
      { name: 'ABSENT', valueFrom: { secretKeyRef: { name: 'none', key: 'password', optional: true } } },
      { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    ],
  })
  const pod = await runPod(use, namespace, { containers: [container] })
  const env = Object.fromEntries(
    messageOf(pod)
      .trim()
      .split('\n')
      .map(line => line.split(/=(.*)/s)),
  )
  const { PATH: _, PWD: __, ...rest } = env
  assert.deepEqual(rest, {
    A: 'a',
    B: 'a-$(NONE)-$(A)',
    PASSWORD: 'p$(A)ss',
    POD: 'pod',
    IP: pod.status?.podIP,
    HOME: '/',
    HOSTNAME: 'pod',
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: String(use.kube.port),
  })
})

test('arguments of a container are expanded', () => {
  assert.equal(expand('--url=$(HOST):$(PORT) $$(HOST) $(NONE)', { HOST: 'h', PORT: '1' }), '--url=h:1 $(HOST) $(NONE)')
})

test('secrets and config maps are files with their modes, and cannot be written', async () => {
  const namespace = await use.kube.makeNamespace('files')
  await createSecret(use, namespace, 'login', { password: 'secret', other: 'x' })
  await createMap(use, namespace, 'settings', { 'job.yaml': 'a: 1' })
  const volumes = [
    { name: 'login', secret: { secretName: 'login', defaultMode: 0o400, items: [{ key: 'password', path: 'a/pw' }] } },
    { name: 'settings', configMap: { name: 'settings' } },
  ]
  const volumeMounts = [
    { name: 'login', mountPath: '/var/run/login' },
    { name: 'settings', mountPath: '/etc/job.yaml', subPath: 'job.yaml' },
  ]
  const script = `{ cat /var/run/login/a/pw; echo; ls /var/run/login; stat -c %a /var/run/login/a/pw; cat /etc/job.yaml; echo
    touch /var/run/login/x || echo refused; } > /dev/termination-log`
  const pod = await runPod(use, namespace, { volumes, containers: [shell(script, { volumeMounts })] })
  assert.equal(messageOf(pod), 'secret\na\n400\na: 1\nrefused\n')
})

test('a pod calls the API server with its own token', async () => {
  const namespace = await use.kube.makeNamespace('token')
  const program = `
    const at = '/var/run/secrets/kubernetes.io/serviceaccount/'
    const { readFileSync, writeFileSync } = require('node:fs')
    const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env
    const headers = { authorization: 'Bearer ' + readFileSync(at + 'token', 'utf8'), 'content-type': 'application/json' }
    const body = '{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}'
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
    const options = { host, port, path, method: 'POST', headers, ca: readFileSync(at + 'ca.crt') }
    require('node:https').request(options, async answer => {
      const { userInfo } = (await new Response(answer).json()).status
      writeFileSync('/dev/termination-log', userInfo.username + ' ' + readFileSync(at + 'namespace', 'utf8'))
    }).end(body)`
  const container = { name: 'main', image: 'node', command: ['/node/node', '-e', program] }
  const pod = await runPod(use, namespace, { containers: [container] })
  assert.equal(messageOf(pod), `system:serviceaccount:${namespace}:default ${namespace}`)
})

test('a container waits for a secret that is missing and starts when it appears', async () => {
  const namespace = await use.kube.makeNamespace('missing')
  const env = [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'late', key: 'password' } } }]
  const ref = await createPod(use, namespace, { containers: [shell('exit 0', { env })] })
  const waiting = await use.kube.api.wait<Pod>(ref, pod => waitingOf(pod)?.reason === 'CreateContainerConfigError')
  assert.equal(waitingOf(waiting)?.message, 'secret "late" not found')
  assert.equal(waiting.status?.phase, 'Pending')
  await createSecret(use, namespace, 'late', { password: 'x' })
  await use.kube.api.wait<Pod>(ref, pod => pod.status?.phase === 'Succeeded')
})

test('the termination message is at most 4096 bytes, and the log stands in for it where the pod wants that', async () => {
  const namespace = await use.kube.makeNamespace('message')
  const long = shell('yes 12345 | head -c 6000 > /dev/termination-log; exit 1')
  assert.equal(messageOf(await runPod(use, namespace, { containers: [long] }, 'long')).length, 4096)
  const silent = shell('echo why; exit 1', { terminationMessagePolicy: 'FallbackToLogsOnError' })
  assert.equal(messageOf(await runPod(use, namespace, { containers: [silent] }, 'silent')), 'why\n')
})

test('a deleted pod gets SIGTERM, and its object goes when it has ended', async () => {
  const namespace = await use.kube.makeNamespace('delete')
  const script = 'trap "echo bye; exit 0" TERM; echo up; sleep 60 & wait'
  const ref = await createPod(use, namespace, { containers: [shell(script)] })
  await waitForLog(use, namespace, 'up\n')
  await use.kube.api.delete(ref)
  await use.kube.api.waitGone(ref)
  assert.equal(await use.kubelet.logs(namespace, 'pod'), 'up\nbye\n')
})

test('a pod that ignores SIGTERM is killed after its grace period', async () => {
  const namespace = await use.kube.makeNamespace('kill')
  const script = 'trap "echo no" TERM; echo up; while :; do sleep 0.05; done'
  const ref = await createPod(use, namespace, { containers: [shell(script)] })
  await waitForLog(use, namespace, 'up\n')
  const startedAt = performance.now()
  await use.kube.api.delete(ref, { gracePeriodSeconds: 1 })
  await use.kube.api.waitGone(ref)
  assert.ok(performance.now() - startedAt >= 1000)
  assert.equal(await use.kubelet.logs(namespace, 'pod'), 'up\nno\n')
})

test('a pod of the restricted level runs as its user and writes only where it may', async () => {
  const namespace = await use.kube.makeNamespace('strict', { 'pod-security.kubernetes.io/enforce': 'restricted' })
  const securityContext = {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  }
  const script = `{ id -u; id -G; touch /x || echo no root; touch /tmp/x || echo no tmp; touch /data/x && echo data
    chown 0 /data/x || echo no chown; } > /dev/termination-log 2>/dev/null`
  const container = shell(script, { securityContext, volumeMounts: [{ name: 'data', mountPath: '/data' }] })
  const pod = await runPod(use, namespace, {
    securityContext: { runAsNonRoot: true, runAsUser: 12345, fsGroup: 777, seccompProfile: { type: 'RuntimeDefault' } },
    volumes: [{ name: 'data', emptyDir: {} }],
    containers: [container],
  } as Partial<PodSpec>)
  assert.equal(messageOf(pod), '12345\n0 777\nno root\nno tmp\ndata\nno chown\n')
})

test('the image of the project runs the program at the restricted level with arguments alone', async () => {
  const namespace = await use.kube.makeNamespace('program', { 'pod-security.kubernetes.io/enforce': 'restricted' })
  const securityContext = {
    runAsNonRoot: true,
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  }
  const env = [{ name: 'FLAG', value: '--version' }]
  const container = { name: 'main', image: 'kafka-backup:test', args: ['$(FLAG)'], env, securityContext }
  const pod = await runPod(use, namespace, { containers: [container] })
  assert.deepEqual(endsOf(pod), [['Completed', 0]])
  const { version } = JSON.parse(await readFile(join(import.meta.dirname, '../../package.json'), 'utf8'))
  assert.match(await use.kubelet.logs(namespace, 'pod'), new RegExp(version.replaceAll('.', '\\.')))
})

test('an image that the runner does not know is not pulled', async () => {
  const namespace = await use.kube.makeNamespace('image')
  const ref = await createPod(use, namespace, { containers: [{ name: 'main', image: 'none:1' }] })
  await use.kube.api.wait<Pod>(ref, each => waitingOf(each)?.reason === 'ImagePullBackOff')
})

test('two pods listen on the same port, each on its address', async () => {
  const namespace = await use.kube.makeNamespace('port')
  const program = `require('node:http').createServer((_, answer) => answer.end(process.env.HOSTNAME))
    .listen(18080, process.env.IP, () => console.log('up'))`
  const env = [{ name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }]
  const container = { name: 'main', image: 'node', command: ['/node/node', '-e', program], env }
  for (const name of ['one', 'two']) {
    const ref = await createPod(use, namespace, { containers: [container] }, name)
    await waitForLog(use, namespace, 'up\n', name)
    const { status } = await use.kube.api.wait<Pod>(ref, pod => pod.status?.phase === 'Running')
    assert.equal(await (await fetch(`http://${status?.podIP}:18080`)).text(), name)
  }
})

test('a persistent volume claim keeps its files from pod to pod, and a test can look at them', async () => {
  const namespace = await use.kube.makeNamespace('claim')
  const resources = { requests: { storage: '1Gi' } }
  const spec = { accessModes: ['ReadWriteOnce'], resources }
  const metadata = { name: 'archive', namespace }
  await use.kube.api.create({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec })
  const volumes = [{ name: 'archive', persistentVolumeClaim: { claimName: 'archive' } }]
  const part = { name: 'archive', mountPath: '/part', subPath: 'a/part' }
  const volumeMounts = [{ name: 'archive', mountPath: '/archive' }, part]
  const securityContext = { runAsUser: 12345 }
  const write = shell('echo kept > /archive/file; echo part > /part/file', { volumeMounts, securityContext })
  const read = shell('cat /archive/file > /dev/termination-log', { volumeMounts })
  await runPod(use, namespace, { volumes, containers: [write] }, 'write')
  assert.equal(messageOf(await runPod(use, namespace, { volumes, containers: [read] }, 'read')), 'kept\n')
  assert.equal(await readFile(join(use.kubelet.claimPath(namespace, 'archive'), 'file'), 'utf8'), 'kept\n')
  assert.equal(await readFile(join(use.kubelet.claimPath(namespace, 'archive'), 'a/part/file'), 'utf8'), 'part\n')
})

function waitingOf(pod: Pod) {
  return pod.status?.containerStatuses?.[0]?.state.waiting
}
