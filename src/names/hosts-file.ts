// Parses the file of fixed host names (hosts(5)), which name servers do not know: Docker's
// `extra_hosts` and Kubernetes' `hostAliases` write it.
import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'

/** The addresses of each name, in the order of the file. Lines that make no sense are skipped. */
export function parseHosts(text: string): ReadonlyMap<string, readonly LookupAddress[]> {
  const hosts = new Map<string, LookupAddress[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    const family = isIP(address)
    if (family === 0) continue
    for (const name of names.map((one) => one.toLowerCase())) {
      hosts.set(name, [...(hosts.get(name) ?? []), { address, family }])
    }
  }
  return hosts
}
