// Judges the objects of standard input, a JSON list, as GitOps tools do: by the kstatus library, which Flux, Helm and
// kpt use, and by a health script of Argo CD, run by the Lua interpreter that Argo CD embeds.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type verdict struct {
	Kstatus string `json:"kstatus"`
	Health  string `json:"health"`
	Message string `json:"message"`
}

func main() {
	if err := judge(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func judge(script string) error {
	text, err := os.ReadFile(script)
	if err != nil {
		return err
	}
	var objects []map[string]any
	if err := json.NewDecoder(os.Stdin).Decode(&objects); err != nil {
		return err
	}
	verdicts := make([]verdict, 0, len(objects))
	for _, object := range objects {
		result, err := status.Compute(&unstructured.Unstructured{Object: integers(object).(map[string]any)})
		if err != nil {
			return err
		}
		health, message, err := runHealth(string(text), object)
		if err != nil {
			return err
		}
		verdicts = append(verdicts, verdict{string(result.Status), health, message})
	}
	return json.NewEncoder(os.Stdout).Encode(verdicts)
}

// The library expects integers where JSON has them.
func integers(value any) any {
	switch typed := value.(type) {
	case map[string]any:
		copied := map[string]any{}
		for key, each := range typed {
			copied[key] = integers(each)
		}
		return copied
	case []any:
		copied := make([]any, len(typed))
		for at, each := range typed {
			copied[at] = integers(each)
		}
		return copied
	case float64:
		if typed == float64(int64(typed)) {
			return int64(typed)
		}
	}
	return value
}

// As Argo CD does without useOpenLibs: no library is open, the object is the global obj, the result is a table.
func runHealth(script string, object map[string]any) (string, string, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}} {
		state.Push(state.NewFunction(library.open))
		state.Push(lua.LString(library.name))
		state.Call(1, 0)
	}
	state.SetGlobal("obj", toLua(state, object))
	if err := state.DoString(script); err != nil {
		return "", "", err
	}
	table, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		return "", "", fmt.Errorf("the health script returned no table")
	}
	return table.RawGetString("status").String(), table.RawGetString("message").String(), nil
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch typed := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, each := range typed {
			table.RawSetString(key, toLua(state, each))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, each := range typed {
			table.Append(toLua(state, each))
		}
		return table
	case string:
		return lua.LString(typed)
	case float64:
		return lua.LNumber(typed)
	case bool:
		return lua.LBool(typed)
	}
	return lua.LNil
}
