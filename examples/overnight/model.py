"""What the stand-in for the model says in the checks: it changes the package, commits, and wants to push."""
import re


def turn(prompt, results):
    """One turn: a command, or the last words. `results` are those of the commands since the prompt."""
    name = re.findall(r"Migrate packages/(\w+)", prompt)[-1]
    git = f"git -C packages/{name}"
    if not results:
        return {"run": f"echo 2 > packages/{name}/api && {git} -c user.name=Agent -c user.email=agent@lab.example commit -qam 'use api 2'"}
    if len(results) == 1:
        return {"run": f"{git} push origin HEAD:main"}
    refused = "not this week" in results[-1]
    return {"say": f"{name} uses api 2. " + ("It is not pushed." if refused else "It is pushed.")}
