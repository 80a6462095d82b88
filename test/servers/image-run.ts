import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { BuiltImage } from './image-build.ts'
import { type CommandResult, runCommand } from './run-command.ts'

/**
 * Runs a command in an image as a cluster with strict rules does: a read-only root with what the image put there and
 * the C libraries of this machine in the place of its base, nothing else; an empty `/tmp`; no right to become more than
 * the user with the number given. Only the image's own variables are set.
 */
export async function runImage(
  image: BuiltImage,
  folder: string,
  command: readonly string[],
  user = image.user,
): Promise<CommandResult> {
  const root = join(folder, 'running')
  await mkdir(root, { recursive: true })
  const script = `set -e
mount -t tmpfs -o mode=755 tmpfs "$1"
mkdir -p "$1/app" "$1/usr/local" "$1/usr/lib" "$1/proc" "$1/dev" "$1/tmp"
ln -s usr/lib "$1/lib"
if [ -d /usr/lib64 ]; then mkdir "$1/usr/lib64"; mount --bind /usr/lib64 "$1/usr/lib64"; ln -s usr/lib64 "$1/lib64"; fi
mount --bind /usr/lib "$1/usr/lib"
mount --bind "$2/app" "$1/app"
mount --bind "$2/usr/local" "$1/usr/local"
for device in null zero urandom random; do touch "$1/dev/$device"; mount --bind /dev/$device "$1/dev/$device"; done
mount -t proc proc "$1/proc"
for part in /app /usr/local /usr/lib ''; do mount -o remount,bind,ro "$1$part"; done
mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
root=$1 user=$3
shift 3
exec setpriv --no-new-privs chroot --userspec="$user" --groups="\${user#*:}" "$root" "$@"`
  const args = ['--mount', '--pid', '--fork', 'sh', '-c', script, 'sh', root, image.layer, user, ...command]
  return runCommand('unshare', args, {
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...image.env },
    timeoutMs: 60_000,
  })
}
