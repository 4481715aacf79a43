// Measures how long the machine takes to give a process a page of memory. A virtual machine inside
// a virtual machine can need forty times the usual half microsecond. There, processes that start
// side by side take longer than one after the other, so programs that start many ask here first.

const PAGE_BYTES = 4_096
const PAGES = 2_048
/** The fastest counts, because other processes interrupt a measurement. */
const ATTEMPTS = 3

/** Between the half microsecond of usual machines and the 3 to 20 of nested ones. */
const SLOW_US = 2

export function arePageFaultsSlow(): boolean {
  const attempts = Array.from({ length: ATTEMPTS }, () => measurePageFaultUs())
  return Math.min(...attempts) > SLOW_US
}

function measurePageFaultUs(): number {
  const memory = Buffer.allocUnsafeSlow(PAGES * PAGE_BYTES)
  const startMs = performance.now()
  for (let offset = 0; offset < memory.length; offset += PAGE_BYTES) memory[offset] = 1
  return ((performance.now() - startMs) * 1_000) / PAGES
}
