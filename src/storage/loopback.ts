/** Whether what is sent there does not leave the machine. `hostname` is that of a URL. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}
