/** Makes the file system of a container; see `formatSandbox`. */
export interface Sandbox {
  /** A folder of the container's own, for what it writes into its root. */
  folder: string
  mounts: readonly Mount[]
  readOnlyRoot: boolean
  user: number
  group: number
  /** The group of the pod's volumes, which its processes are in. */
  volumeGroup: number | undefined
  workingDir: string
  command: readonly string[]
}

/** A folder or a file of this machine at a path in the container. */
export interface Mount {
  source: string
  target: string
  readOnly: boolean
}

/** A file in the folder that is no longer empty once only the command itself can still fail. */
export const startedMarker = 'started'

/**
 * A shell script that becomes the container's command. It must run in a mount and a process namespace of its own, as
 * root. The container's root is this machine's file system under a layer that takes all writes, so that mount points
 * can be made anywhere without a trace on the machine; `/tmp` and `/dev` are fresh, as in an image, which also hides
 * the other pods. Mounts are true mounts: a path in a pod is what the pod says, links and read-only flags included.
 */
export function formatSandbox(sandbox: Sandbox): string {
  const { folder, mounts, readOnlyRoot, workingDir, command } = sandbox
  const inOrder = [...mounts].sort((one, other) => one.target.length - other.target.length)
  const layer = `lowerdir=/,upperdir=${folder}/upper,workdir=${folder}/work`
  return `set -e
path=$PATH
PATH=/usr/sbin:/usr/bin:/sbin:/bin
umask 022
mkdir -p ${quote(`${folder}/upper`)} ${quote(`${folder}/work`)} ${quote(`${folder}/root`)}
mount -t overlay -o ${quote(layer)} overlay ${quote(`${folder}/root`)}
cd ${quote(`${folder}/root`)}
mkdir -p .old
pivot_root . .old
cd /
mount -t proc proc /proc
mount -t tmpfs -o mode=1777 tmpfs /tmp
${formatDevices()}
bind() {
  target=$(realpath -m "$2")
  [ -e "/.old$1" ] || mkdir -p "/.old$1"
  if [ -d "/.old$1" ]; then mkdir -p "$target"; else mkdir -p "$(dirname "$target")"; touch "$target"; fi
  mount --bind "/.old$1" "$target"
  if [ "$3" = ro ]; then mount -o remount,bind,ro "$target"; fi
}
${inOrder.map(formatMount).join('\n')}
exec 4>${quote(`/.old${folder}/${startedMarker}`)}
umount -l /.old
rmdir /.old
${readOnlyRoot ? 'mount -o remount,bind,ro /\nmount -o remount,bind,ro /tmp' : ''}
mkdir -p ${quote(workingDir)} 2>/dev/null || true
cd ${quote(workingDir)}
unset OLDPWD
PATH=$path
echo >&4
exec 4>&-
exec /usr/bin/setpriv ${formatIdentity(sandbox).map(quote).join(' ')} -- ${command.map(quote).join(' ')}
`
}

function formatDevices(): string {
  const devices = ['null', 'zero', 'full', 'random', 'urandom', 'tty']
  return `mount -t tmpfs -o mode=755 tmpfs /dev
mkdir -m 1777 /dev/shm
for device in ${devices.join(' ')}; do touch /dev/$device; mount --bind /.old/dev/$device /dev/$device; done
ln -s /proc/self/fd /dev/fd
ln -s /proc/self/fd/0 /dev/stdin
ln -s /proc/self/fd/1 /dev/stdout
ln -s /proc/self/fd/2 /dev/stderr`
}

function formatMount({ source, target, readOnly }: Mount): string {
  return `bind ${quote(source)} ${quote(target)} ${readOnly ? 'ro' : 'rw'}`
}

function formatIdentity({ user, group, volumeGroup }: Sandbox): string[] {
  const groups = volumeGroup === undefined ? '--clear-groups' : `--groups=${volumeGroup}`
  return [`--reuid=${user}`, `--regid=${group}`, groups]
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
