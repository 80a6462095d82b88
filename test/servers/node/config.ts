import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pauseImage } from './product-image.ts'
import { networkPlugins } from './programs.ts'

export interface NodeSettings {
  folder: string
  /** Of the bridge and the cgroups. */
  name: string
  /** The bridge's address. */
  gateway: string
  kubeletPort: number
}

/** Writes what containerd, the kubelet and the network plugins read. */
export async function writeNodeConfig(settings: NodeSettings): Promise<void> {
  const { folder } = settings
  for (const name of ['network', 'plugins', 'volume-plugins']) await mkdir(join(folder, name))
  await writeFile(join(folder, 'containerd.toml'), formatContainerd(folder))
  await writeFile(join(folder, 'kubelet.json'), JSON.stringify(kubeletConfig(settings)))
  await writeFile(join(folder, 'resolv.conf'), '')
  await writeFile(join(folder, 'network/10-pods.conflist'), JSON.stringify(networkConfig(settings)))
  for (const name of ['bridge', 'host-local', 'loopback']) {
    await symlink(join(networkPlugins, name), join(folder, 'plugins', name))
  }
  const redirect = join(folder, 'plugins/redirect-loopback')
  const plugin = join(import.meta.dirname, 'loopback-plugin.ts')
  await writeFile(redirect, `#!/bin/sh\nexec '${process.execPath}' '${plugin}'\n`)
  await chmod(redirect, 0o755)
}

/** In the format of containerd 1.6. Debian's systems may have no AppArmor, and a container none of the rights of root. */
function formatContainerd(folder: string): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"'
  const unused = ['btrfs', 'zfs', 'devmapper', 'aufs'].map(name => `io.containerd.snapshotter.v1.${name}`)
  const tracing = ['io.containerd.tracing.processor.v1.otlp', 'io.containerd.internal.v1.tracing']
  return `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ${JSON.stringify([...unused, ...tracing])}
[grpc]
  address = "/run/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "/run/containerd-opt"
[${cri}]
  sandbox_image = "${pauseImage}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [${cri}.cni]
    bin_dir = "${folder}/plugins"
    conf_dir = "${folder}/network"
  [${cri}.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [${cri}.containerd.runtimes.runc.options]
      SystemdCgroup = false
`
}

function kubeletConfig({ folder, name, gateway, kubeletPort }: NodeSettings): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: '127.0.0.1',
    port: kubeletPort,
    healthzPort: 0,
    // It listens on the loopback address only.
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    containerRuntimeEndpoint: 'unix:///run/containerd.sock',
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${name}`,
    enforceNodeAllocatable: [],
    failCgroupV1: false,
    failSwapOn: false,
    oomScoreAdj: 0,
    // What the rest of the machine does to its disk must not end a test.
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    evictionHard: Object.fromEntries(
      ['memory.available', 'nodefs.available', 'imagefs.available', 'nodefs.inodesFree', 'imagefs.inodesFree'].map(
        signal => [signal, '0%'],
      ),
    ),
    makeIPTablesUtilChains: false,
    resolvConf: join(folder, 'resolv.conf'),
    clusterDomain: 'cluster.local',
    clusterDNS: [gateway],
    volumePluginDir: join(folder, 'volume-plugins'),
    // Sooner than by default, so that tests wait less.
    configMapAndSecretChangeDetectionStrategy: 'Watch',
    syncFrequency: '5s',
    nodeStatusUpdateFrequency: '5s',
    nodeLeaseDurationSeconds: 8,
    fileCheckFrequency: '0s',
    serializeImagePulls: false,
    shutdownGracePeriod: '0s',
  }
}

function networkConfig({ name, gateway }: NodeSettings): object {
  const subnet = gateway.replace(/\d+$/, '0/24')
  const ipam = {
    type: 'host-local',
    dataDir: '/run/pod-addresses',
    ranges: [[{ subnet }]],
    routes: [{ dst: '0.0.0.0/0' }],
  }
  return {
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      { type: 'bridge', bridge: name, isGateway: true, ipMasq: false, hairpinMode: true, ipam },
      { type: 'redirect-loopback', gateway },
    ],
  }
}
