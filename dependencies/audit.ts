// `npm run audit`: which weaknesses the registry knows of in what package-lock.json names. Exits with 1 when one is
// in what runs; what only builds and checks is told. A registry that does not answer such questions is no failure.
import { execFile } from 'node:child_process'
import { z } from 'zod'
import { readLockfile, ROOT } from './lockfile.ts'

/** As `npm audit --json` has it (https://docs.npmjs.com/cli/v11/commands/npm-audit). */
const reportSchema = z.object({
  vulnerabilities: z.record(
    z.string(),
    z.object({
      severity: z.string(),
      /** Where it is installed. */
      nodes: z.array(z.string()),
      /** A name stands for another one of the list, by which this one is weak. */
      via: z.array(z.union([z.string(), z.object({ title: z.string(), url: z.string() })])),
    }),
  ),
})

const failureSchema = z.object({ message: z.string() })

const answer: unknown = JSON.parse(await runNpmAudit())
const failure = failureSchema.safeParse(answer)
if (failure.success) printLine(`Not checked: ${failure.data.message}`)
// What is neither is no answer to pass by.
else await printReport(reportSchema.parse(answer))

/** It ends with 1 both when it has found something and when it could not ask. */
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
    const where = nodes.some((node) => running.has(node)) ? 'runs' : 'builds and checks'
    const advisories = via.map((of) =>
      typeof of === 'string' ? `by ${of}` : `${of.title} (${of.url})`,
    )
    printLine(`${severity}  ${name}, which ${where}: ${advisories.join('; ')}`)
    if (where === 'runs') process.exitCode = 1
  }
  printLine(
    vulnerable.length === 0 ? 'No weakness is known' : `${vulnerable.length} packages are weak`,
  )
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`)
}
