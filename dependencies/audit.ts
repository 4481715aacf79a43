// `npm run audit`: lists the known vulnerabilities of the packages in package-lock.json. Exits with
// 1 if a runtime package is affected; vulnerable development packages are only listed. A registry
// that cannot answer is no failure.
import { execFile } from 'node:child_process'
import { z } from 'zod'
import { readLockfile, ROOT } from './lockfile.ts'

/** The report of `npm audit --json` (https://docs.npmjs.com/cli/v11/commands/npm-audit). */
const reportSchema = z.object({
  vulnerabilities: z.record(
    z.string(),
    z.object({
      severity: z.string(),
      /** The paths at which the package is installed. */
      nodes: z.array(z.string()),
      /** An advisory, or the name of a listed dependency that makes this package vulnerable. */
      via: z.array(z.union([z.string(), z.object({ title: z.string(), url: z.string() })])),
    }),
  ),
})

const failureSchema = z.object({ message: z.string() })

const answer: unknown = JSON.parse(await runNpmAudit())
const failure = failureSchema.safeParse(answer)
if (failure.success) printLine(`Not checked: ${failure.data.message}`)
// parse() throws if the answer is neither a failure nor a report.
else await printReport(reportSchema.parse(answer))

/**
 * npm exits with 1 both for vulnerabilities and for a failed query, so its exit code is ignored.
 */
function runNpmAudit(): Promise<string> {
  return new Promise((resolve) => {
    execFile('npm', ['audit', '--json'], { cwd: ROOT, maxBuffer: 2 ** 26 }, (_, stdout) =>
      resolve(stdout),
    )
  })
}

async function printReport({ vulnerabilities }: z.infer<typeof reportSchema>): Promise<void> {
  const locked = await readLockfile()
  const running = new Set(locked.filter(({ dev }) => !dev).map(({ path }) => path))
  const vulnerable = Object.entries(vulnerabilities)
  for (const [name, { severity, nodes, via }] of vulnerable) {
    const where = nodes.some((node) => running.has(node)) ? 'runtime' : 'development'
    const advisories = via.map((of) =>
      typeof of === 'string' ? `via ${of}` : `${of.title} (${of.url})`,
    )
    printLine(`${severity}  ${name} (${where}): ${advisories.join('; ')}`)
    if (where === 'runtime') process.exitCode = 1
  }
  printLine(
    vulnerable.length === 0
      ? 'No known vulnerabilities'
      : `${vulnerable.length} vulnerable packages`,
  )
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`)
}
